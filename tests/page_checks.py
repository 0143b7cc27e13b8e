"""What every page must satisfy, measured in a browser: contrast of all text, no overflow, names, keys."""

# WCAG 2.1 AA: text, and text of at least 24 px, or 18.66 px if it is bold
CONTRAST, CONTRAST_LARGE = 4.5, 3.0

_INK = """
  const parse = (c) => { const v = c.match(/[\\d.]+/g).map(Number);
    return [v[0], v[1], v[2], v.length > 3 ? v[3] : 1]; };
  const over = (a, b) => a.slice(0, 3).map((v, k) => v * a[3] + b[k] * (1 - a[3])).concat([1]);
  const light = (c) => c.slice(0, 3).map((v) => { v /= 255;
    return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; })
    .reduce((sum, v, k) => sum + v * [0.2126, 0.7152, 0.0722][k], 0);
  // the colour behind an element: all backgrounds from the page up to it, one over the other
  const paper = (e) => { const chain = [];
    for (let x = e; x; x = x.parentElement) chain.push(parse(getComputedStyle(x).backgroundColor));
    return chain.reverse().reduce((below, c) => over(c, below), [255, 255, 255, 1]); };
  const faded = (e) => { let share = 1;
    for (let x = e; x; x = x.parentElement) share *= Number(getComputedStyle(x).opacity);
    return share; };
"""
# text that is not readable: [text, contrast, where it stands]; disabled controls are exempt
FAINT = f"""([normal, large]) => {{ {_INK}
  const found = [];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {{
    const e = texts.currentNode.parentElement, text = texts.currentNode.textContent.trim();
    if (!text || !e || ["SCRIPT", "STYLE", "OPTION", "NOSCRIPT"].includes(e.tagName)) continue;
    if (!e.checkVisibility({{ checkOpacity: true, checkVisibilityCSS: true }})) continue;
    if (e.closest(":disabled, [aria-disabled=true]")) continue;
    const s = getComputedStyle(e), size = parseFloat(s.fontSize);
    const drawn = e.namespaceURI.endsWith("svg");
    const below = paper(e), ink = parse(drawn ? s.fill : s.color);
    ink[3] *= faded(e) * (drawn ? Number(s.fillOpacity) : 1);
    const [a, b] = [light(over(ink, below)), light(below)];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    const big = size >= 24 || (size >= 18.66 && Number(s.fontWeight) >= 700);
    if (ratio < (big ? large : normal))
      found.push([text.slice(0, 40), Math.round(100 * ratio) / 100,
        `${{e.tagName}}.${{e.getAttribute("class")}}`]);
  }}
  return found; }}"""
# what reaches beyond the right edge and is not inside of something that scrolls by itself
WIDE = """() => { const edge = document.documentElement.clientWidth + 1, found = [];
  const scrolls = (e) => { for (let x = e.parentElement; x && x !== document.body; x = x.parentElement)
    if (getComputedStyle(x).overflowX !== "visible") return true; return false; };
  if (document.scrollingElement.scrollWidth > edge) found.push("the page scrolls sideways");
  for (const e of document.querySelectorAll("body *")) {
    if (!e.checkVisibility() || e.namespaceURI.endsWith("svg") || scrolls(e)) continue;
    if (e.getBoundingClientRect().right > edge) found.push(`${e.tagName}.${e.className}`);
  }
  return found.slice(0, 10); }"""
# controls without a name for screen readers
NAMELESS = """() => [...document.querySelectorAll("button, select, input:not([type=hidden]), a[href], summary")]
  .filter((e) => e.checkVisibility())
  .filter((e) => !(e.textContent.trim() || e.getAttribute("aria-label") || e.title
    || e.getAttribute("aria-labelledby") || (e.labels && e.labels.length && e.labels[0].textContent.trim())))
  .map((e) => e.outerHTML.slice(0, 80))"""
# controls that the Tab key does not reach although they can be clicked; radio buttons are one stop
MARK = """() => { window.passed = new Set();
  document.addEventListener("focusin", (event) => window.passed.add(event.target));
  document.body.focus(); }"""
STOPS = """() => [...document.querySelectorAll("button, select, input:not([type=hidden]), a[href], summary")]
  .filter((e) => e.checkVisibility() && !e.disabled && e.type !== "radio" && !e.closest("[inert]"))"""
PASSED_BY = (
    f"() => ({STOPS})().filter((e) => !window.passed.has(e)).map((e) => e.outerHTML.slice(0, 90))"
)
# whether what has the focus is seen to have it
FOCUS_SEEN = """() => { const s = getComputedStyle(document.activeElement);
  return (s.outlineStyle !== "none" && parseFloat(s.outlineWidth) > 0) || s.boxShadow !== "none"; }"""


def unfold(page):
    """Open everything that is folded."""
    page.evaluate("document.querySelectorAll('details').forEach((e) => { e.open = true; })")


def find_faults(page):
    """All faults of a page as it is shown now, in words."""
    unfold(page)
    faint = page.evaluate(FAINT, [CONTRAST, CONTRAST_LARGE])
    return [
        *(f"contrast {ratio} of '{text}' in {where}" for text, ratio, where in faint),
        *(f"too wide: {what}" for what in page.evaluate(WIDE)),
        *(f"without a name: {what}" for what in page.evaluate(NAMELESS)),
    ]


def find_unreachable(page):
    """Controls that the Tab key does not reach, and how many do not show that they have the focus."""
    unfold(page)
    count = page.evaluate(f"({STOPS})().length")
    page.evaluate(MARK)
    unseen = 0
    for _ in range(count + 30):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement === document.body"):
            continue
        unseen += not page.evaluate(FOCUS_SEEN)
    return page.evaluate(PASSED_BY), unseen


def check_page(page, keys):
    """No fault in either theme; keys: also by keys alone, which takes a moment."""
    faults = find_faults(page)
    page.click("#theme")
    faults += find_faults(page)
    assert not faults, faults
    if keys:
        passed_by = find_unreachable(page)
        assert passed_by == ([], 0), passed_by
