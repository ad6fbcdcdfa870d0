"""Tables of images that nobody reads."""

import numpy as np
import pandas as pd

from anonymize.data.image_files import load_file
from anonymize.data.table import COLUMNS, Table


def table(patients, **given):
    """A table of one image a patient code, its other columns as given or unknown."""
    frame = pd.DataFrame({"patient_id": [str(p) for p in patients]})
    unknown = {"path": "", "identified": True, "follow_up": 0, "view": "", "age": np.nan}
    columns = unknown | {"sex": "", "part": "", "image_id": [f"{i:06}.png" for i in frame.index]}
    return Table("folder", frame.assign(**columns | given)[[*COLUMNS]], (), load_file, "0")
