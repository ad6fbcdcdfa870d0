"""The fourteen findings of ChestX-ray14, in its usual order (Wang et al. 2017, CVPR)."""

CHESTXRAY14: tuple[str, ...] = (
    *("Atelectasis", "Cardiomegaly", "Effusion", "Infiltration", "Mass", "Nodule", "Pneumonia"),
    *("Pneumothorax", "Consolidation", "Edema", "Emphysema", "Fibrosis", "Pleural_Thickening"),
    "Hernia",
)
