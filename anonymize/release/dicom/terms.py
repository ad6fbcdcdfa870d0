"""Closed vocabularies: what a kept attribute may say. Anything else is not kept.

Defined Terms and Enumerated Values of PS3.3, body parts of PS3.16 Annex L, makers of X-ray
equipment, and the words that a description of a radiograph may consist of.
"""

from __future__ import annotations

from anonymize.release.dicom.header import words


def _terms(text: str) -> frozenset[str]:
    return frozenset(text.split("|"))


YES_NO = frozenset({"YES", "NO"})
SHAPES = frozenset({"RECTANGLE", "ROUND", "HEXAGONAL"})
EDGES = frozenset({"RECTANGULAR", "CIRCULAR", "POLYGONAL"})

TERMS: dict[str, frozenset[str]] = {
    keyword: _terms(terms) if isinstance(terms, str) else terms
    for keyword, terms in {
        "AnatomicalOrientationType": "BIPED|QUADRUPED",
        "AnodeTargetMaterial": "TUNGSTEN|MOLYBDENUM|RHODIUM",
        "CalibrationImage": YES_NO,
        "CassetteOrientation": "LANDSCAPE|PORTRAIT",
        "CassetteSize": "18CMX24CM|8INX10IN|24CMX30CM|10INX12IN|30CMX35CM|30CMX40CM|11INX14IN"
        "|35CMX35CM|14INX14IN|35CMX43CM|14INX17IN",
        "CollimatorShape": EDGES,
        "ContentQualification": "PRODUCT|RESEARCH|SERVICE",
        "ConversionType": "DV|DI|DF|WSD|SD|SI|DRW|SYN",
        "DetectorActiveShape": SHAPES,
        "DetectorConditionsNominalFlag": YES_NO,
        "DetectorConfiguration": "AREA|SLOT",
        "DetectorType": "DIRECT|SCINTILLATOR|STORAGE|FILM",
        "DigitizingDeviceTransportDirection": "ROW|COLUMN",
        "EntranceDoseDerivation": "IAK|ESAK|ESDBS|ESDNOBS",
        "ExposureControlMode": "MANUAL|AUTOMATIC",
        "ExposureStatus": "NORMAL|ABORTED",
        "FieldOfViewHorizontalFlip": YES_NO,
        "FieldOfViewShape": SHAPES,
        "FilterMaterial": "MOLYBDENUM|ALUMINUM|COPPER|RHODIUM|NIOBIUM|EUROPIUM|LEAD",
        "Grid": "FIXED|FOCUSED|RECIPROCATING|PARALLEL|CROSSED|NONE",
        "ImageLaterality": "R|L|U|B",
        "Laterality": "R|L",
        "LossyImageCompression": "00|01",
        "LossyImageCompressionMethod": "ISO_10918_1|ISO_14495_1|ISO_15444_1|ISO_15444_15",
        "Modality": "CR|DX|RG|OT",
        "OrganExposed": "BREAST|GONADS|BONE MARROW|FETUS|LENS",
        "PatientPosition": "HFP|HFS|HFDR|HFDL|FFDR|FFDL|FFP|FFS|LFP|LFS|RFP|RFS|AFDR|AFDL|PFDR"
        "|PFDL|SITTING|STANDING",
        "PatientSex": "M|F|O",
        "PatientSexNeutered": "ALTERED|UNALTERED",
        "PixelIntensityRelationship": "LIN|LOG|DISP",
        "PositionerType": "CARM|COLUMN|MAMMOGRAPHIC|PANORAMIC|CEPHALOSTAT|RIGID|NONE",
        "PresentationIntentType": "FOR PRESENTATION|FOR PROCESSING",
        "PresentationLUTShape": "IDENTITY|INVERSE",
        "QualityControlImage": YES_NO,
        "RecognizableVisualFeatures": frozenset({"YES"}),
        "RectificationType": "SINGLE PHASE|THREE PHASE|CONST POTENTIAL",
        "RescaleType": "OD|HU|US|MGML|Z_EFF|ED|EDW|HU_MOD|PCT|LOG_E REL",
        "ModalityLUTType": "OD|HU|US|MGML|Z_EFF|ED|EDW|HU_MOD|PCT|LOG_E REL",
        "ShutterShape": EDGES,
        "SmokingStatus": "YES|NO|UNKNOWN",
        "TableType": "FIXED|TILTING|NONE",
        "ViewPosition": "AP|PA|LL|RL|RLD|LLD|RLO|LLO|LAO|RAO|LPO|RPO|LAT|LATERAL|LORDOTIC|OBLIQUE",
        "VOILUTFunction": "LINEAR|LINEAR_EXACT|SIGMOID",
        "BodyPartExamined": "ABDOMEN|ABDOMENPELVIS|ANKLE|ANUS|ARM|AXILLA|BACK|BREAST|BRONCHUS"
        "|BUTTOCK|CALCANEUS|CALF|CARDIA|CHEST|CHESTABDOMEN|CHESTABDPELVIS|CLAVICLE|COCCYX|CSPINE"
        "|CTSPINE|DIAPHRAGM|ELBOW|ESOPHAGUS|EXTREMITY|EYE|FACE|FEMUR|FINGER|FOOT|FOREARM|HAND|HEAD"
        "|HEADNECK|HEART|HIP|HUMERUS|JAW|KNEE|LARYNX|LEG|LSPINE|LSSPINE|LUNG|LUNGS|MANDIBLE|MAXILLA"
        "|MEDIASTINUM|NECK|NECKCHEST|ORBIT|PATELLA|PELVIS|PHARYNX|PORT CHEST|RADIUS|RIB|RIBS"
        "|SACRUM|SCAPULA|SHOULDER|SINUS|SKULL|SPINE|SSPINE|STERNUM|STOMACH|THIGH|THORAX|THUMB|TIBIA"
        "|TOE|TRACHEA|TSPINE|TLSPINE|ULNA|UPRIGHT CHEST|WHOLEBODY|WRIST|ZYGOMA",
    }.items()
}
SYNONYMS = {"PATIENT ERECT": "STANDING"}
# Makers of radiography equipment, as they write themselves into (0008,0070), without punctuation.
MAKERS = _terms(
    "AGFA|AGFA GEVAERT|AGFA HEALTHCARE|CANON|CANON INC|CARESTREAM|CARESTREAM HEALTH|DEL MEDICAL"
    "|DRTECH|DURR MEDICAL|EIZO|FUJI PHOTO FILM CO LTD|FUJIFILM|FUJIFILM CORPORATION"
    "|FUJI PHOTO FILM CO LTD MEDICAL SYSTEMS|GE|GE HEALTHCARE|GE MEDICAL SYSTEMS|GEMS|HITACHI"
    "|HOLOGIC|HOLOGIC INC|ICRCO|IMAGING DYNAMICS COMPANY LTD|KODAK|EASTMAN KODAK COMPANY|KONICA"
    "|KONICA MINOLTA|KONICA MINOLTA INC|KONICAMINOLTA|LISTEM|LODOX|LUMISYS|MINXRAY|OREX|PHILIPS"
    "|PHILIPS MEDICAL SYSTEMS|PHILIPS HEALTHCARE|RAYENCE|SAMSUNG|SAMSUNG ELECTRONICS"
    "|SEDECAL|SHIMADZU|SHIMADZU CORPORATION|SIEMENS|SIEMENS HEALTHCARE|SIEMENS HEALTHINEERS"
    "|STERNMED|SWISSRAY|SWISSRAY MEDICAL AG|THALES|TOSHIBA|TOSHIBA MEC|TREX|VARIAN|VATECH"
    "|VIDAR|VIDAR SYSTEMS CORPORATION|VIEWORKS|VILLA SISTEMI MEDICALI|MINDRAY|UNITED IMAGING|UIH"
    "|NEUSOFT|WANDONG|CARERAY|IRAY|LG|LG ELECTRONICS|ZIEHM|GMM|ITALRAY|ARCOMA|ARCOMA AB|ADANI"
    "|OEHM UND REHBEIN|OEHM UND REHBEIN GMBH|EXAMION|PROTEC|STEPHANIX|DMS|APELEM|PRIMAX|CODONICS"
)
# A description may consist of these words, one digit, and what is between words.
WORDS = words(
    """
    abd abdomen abdominal above acute additional ambulatory and angle anterior anteroposterior ap
    apical apices artery axial axillary bedside below bilateral body bone both bucky cardiac
    cardiomegaly carm cassette catheter central chest chf clavicle clear collapse comparison
    computed consolidation contrast control copd costophrenic cough cr cross crosstable cxr
    decubitus detector diagnostic diaphragm digital disease direct dorsal dr dual dx dyspnea edema
    effusion effusions emergency emphysema energy enlarged enlargement erect evaluation exam
    examination expiration expiratory exposure failure fever fibrosis film findings five flat focal
    follow followup for four fracture frontal full fu grid ground heart hernia high hilar image
    images impression in infection infiltrate infiltrates infiltration inspiration inspiratory
    intensive interstitial iodine kub lat lateral left limited line ll lobe lordotic low lower lung
    lungs lying mass mediastinal mediastinum middle mobile multiple nasogastric neck no nodule
    nodules normal oblique of old on one opacity open operative orthogonal pa pacemaker pain panel
    patient pediatric pelvis pleura pleural pneumonia pneumothorax portable position post posterior
    posteroanterior postoperative preoperative procedure projection prone pulmonary radiograph
    radiography radiology recumbent repeat report rib ribs right rll rul routine rx scapula
    screening seated semi series shortness shoulder side single sitting skeletal soft spinal spine
    standard standing sternum stretcher study subtraction supine surgery survey swimmer table
    technique thick thickening thin thoracic thorax three tissue tomosynthesis trachea trauma tube
    tuberculosis two unilateral upper upright vascular ventral vertebra view views wall weight with
    without xr xray
    """
)
