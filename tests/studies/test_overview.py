"""The overview of a study, as text and in a real browser."""

import pytest
from test_folder import opened, rows_of, study_of

from browser import Watched, open_browser
from page_checks import check_page
from sarrus.studies.overview import make_overview, save_overview

DRIFT = "energy_drift"


def harmed(study, name=DRIFT):
    rows = rows_of(study, range(6))
    rows[2] |= {"status": "locked", "message": "no </script> moves <b>it</b>", DRIFT: None}
    return [{name if key == DRIFT else key: x for key, x in row.items()} for row in rows]


def overview_of(path, name=DRIFT):
    study = study_of(name="<i>masses</i>", **({} if name == DRIFT else {"record": {name: DRIFT}}))
    with opened(path, study) as folder:
        folder.write_part(harmed(study, name), [])
        return save_overview(folder, folder.finish()), make_overview(folder, folder.collect())


def test_failures_are_listed_and_text_is_harmless(tmp_path):
    """What a user or a run says stays text."""
    _, page = overview_of(tmp_path)
    assert "6 runs: 5 done, 1 locked." in page
    assert "&lt;/script&gt; moves &lt;b&gt;it&lt;/b&gt;" in page
    assert "<i>masses" not in page
    assert "no </script>" not in page


def brush_upper_half(page, selector):
    """Drag along the first axis, from above its end to its middle."""
    box = page.page.locator(selector).first.bounding_box()
    x, mouse = box["x"] + box["width"] / 2, page.page.mouse
    mouse.move(x, box["y"] + 1)
    mouse.down()
    mouse.move(x, box["y"] + box["height"] / 2)
    mouse.up()


@pytest.mark.slow
def test_in_a_browser(tmp_path):
    """Both plots are drawn, any two columns can be chosen, nothing is fetched, no error."""
    path, _ = overview_of(tmp_path)
    with open_browser() as browser:
        page = Watched(browser, path)
        page.page.wait_for_selector("#scatter .scatterlayer", state="attached")
        points = "document.querySelectorAll('#scatter .scatterlayer path.point').length"
        assert page.value(points) == 5
        page.page.select_option("#y", "run")
        page.page.wait_for_function(f"{points} === 6")
        # speed and energy drift; run numbers are no axis
        assert page.value("document.querySelectorAll('#parallel .axis-title').length") == 2
        assert page.value("[...document.querySelectorAll('#x option')].map(o => o.value)") == [
            "run",
            "speed",
            "energy_drift",
        ]
        # all five whole runs; those between two places of an axis; and all again after a click
        assert page.value("document.querySelector('#parallel').dataset.kept") == "5"
        brush_upper_half(page, "#parallel .touch")
        kept = int(page.value("document.querySelector('#parallel').dataset.kept"))
        wanted = "sarrusParallel.axes[0].values.filter((x) => x >= HALF).length"
        half = "(sarrusParallel.axes[0].range[0] + sarrusParallel.axes[0].range[1]) / 2"
        assert kept == page.value(wanted.replace("HALF", half))
        assert 0 < kept < 5
        page.page.locator("#parallel .touch").first.click()
        assert page.value("document.querySelector('#parallel').dataset.kept") == "5"
        # an axis goes where its name is dragged
        titles = "[...document.querySelectorAll('#parallel .axis-title')].map((t) => t.textContent)"
        before = page.value(titles)
        first, second = (page.page.locator("#parallel .axis-title").nth(k) for k in (0, 1))
        first.drag_to(second)
        assert page.value(titles) == before[::-1]
        words = page.press_everything()
        assert any("png" in word.lower() for word in words)
        assert not [word for word in words if "share" in word.lower() or "cloud" in word.lower()]
        # graphics drivers speak of their own speed
        assert not [text for text in page.errors if "GL Driver Message" not in text]
        assert all(url.startswith(("file:", "data:", "blob:")) for url in page.requests)


@pytest.mark.slow
def test_it_is_readable_and_works_by_keys(tmp_path):
    """Long names fit into 400 pixels; up on an axis keeps the upper runs, an arrow on a name moves its axis."""
    long = "largest of all forces that joint B0 exerts"
    path, _ = overview_of(tmp_path, long)
    kept = "Number(document.querySelector('#parallel').dataset.kept)"
    titles = "[...document.querySelectorAll('#parallel .axis-title')].map((t) => t.textContent)"
    with open_browser() as browser:
        check_page(Watched(browser, path, width=400).page, keys=False)
        seen = Watched(browser, path)
        whole, names = seen.value(kept), seen.value(titles)
        seen.page.locator("#parallel .touch").first.focus()
        seen.page.keyboard.press("ArrowUp")
        assert 0 < seen.value(kept) < whole
        seen.page.keyboard.press("Escape")
        assert seen.value(kept) == whole
        seen.page.locator("#parallel .axis-title").first.focus()
        seen.page.keyboard.press("ArrowRight")
        assert seen.value(titles) == [names[1], names[0], *names[2:]]
        # the focus went along
        seen.page.keyboard.press("ArrowLeft")
        assert seen.value(titles) == names
        check_page(seen.page, keys=True)
