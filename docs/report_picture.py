"""Draws docs/report.png: verdict and searches of a report as Chromium shows them, nothing left out.

attacks evaluate --source pediatric-pneumonia --root DATA --attackers histogram-metric,training-free
  --method random-warp:mu=0.1 --method dp-pix:b=8,epsilon=0.1 --method gaussian-blur:sigma=0.02
  --method mosaic:g=4,m=4 --method k-same:k=5 --repeats 1 --set evaluation.utility=false
  --set evaluation.histogram_metric.copies=1 --out FOLDER
python docs/report_picture.py FOLDER/report.html
"""

import base64
import io
import shutil
import sys
import tempfile
from pathlib import Path

from PIL import Image
from selenium import webdriver
from selenium.webdriver.chrome.service import Service

WIDTH = 960
SECTIONS = ("#verdict", "#searches")
PLACE = "const r = document.querySelector(arguments[0]).getBoundingClientRect();"
PLACE += "return {x: 0, y: r.top + scrollY, width: innerWidth, height: r.height, scale: 1}"


def main(report: Path) -> None:
    options = webdriver.ChromeOptions()
    with tempfile.TemporaryDirectory() as own:
        for word in ("headless", "no-sandbox", "hide-scrollbars", f"user-data-dir={own}"):
            options.add_argument(f"--{word}")
        browser = webdriver.Chrome(options, Service(shutil.which("chromedriver")))
        size = {"width": WIDTH, "height": 1000, "deviceScaleFactor": 1, "mobile": False}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        browser.get(report.resolve().as_uri())
        parts = [_seen(browser, browser.execute_script(PLACE, name)) for name in SECTIONS]
        browser.quit()
    whole = Image.new("RGB", (WIDTH, sum(part.height for part in parts)), "white")
    top = 0
    for part in parts:
        whole.paste(part, (0, top))
        top += part.height
    few = whole.quantize(256, Image.Quantize.FASTOCTREE)
    few.save(Path(__file__).with_name("report.png"), optimize=True)


def _seen(browser: webdriver.Chrome, clip: dict) -> Image.Image:
    shot = {"captureBeyondViewport": True, "clip": clip}
    data = browser.execute_cdp_cmd("Page.captureScreenshot", shot)["data"]
    return Image.open(io.BytesIO(base64.b64decode(data))).convert("RGB")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
