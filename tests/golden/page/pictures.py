# SPDX-License-Identifier: BSD-2-Clause
"""pictures.py DIR [--update]: compares how the page looks with the pictures in
tests/golden/page/pictures.

DIR has picture.html and diff-picture.html, the fixed recordings of
tests/unit/picture/test_render_html.c. The pages are shown in a font made of blocks (block_font.py),
so that a picture doesn't depend on a machine's fonts. SHOTS has the sizes and colour schemes. The
test also puts faults into the page, to show that the comparison finds each fault (all of FAULTS in
the full tier). After an intended change, --update writes new reference pictures: look at them. A
picture that differs is left in DIR as NAME.png."""

import base64
import hashlib
import os
import pathlib
import re
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import block_font
import browser

REFERENCES = pathlib.Path(__file__).resolve().parent / "pictures"
WIDE, MIDDLE, NARROW, LEAST, PAPER = (1400, 800), (800, 700), (400, 700), (320, 640), (1000, 1400)
# name: (size, whether dark, fragment of the address); names with "diff" are pages of two recordings
SHOTS = {
    "wide-light": (WIDE, False, ""),
    "wide-dark": (WIDE, True, ""),
    "middle-light": (MIDDLE, False, "view=sandwich&f=1&table=modules"),
    "middle-dark": (MIDDLE, True, "view=callers&flip=1&table=files"),
    "narrow-light": (NARROW, False, "library=hidden&recursion=1"),
    "narrow-dark": (NARROW, True, "table=threads&label=version%3D2"),
    "time-light": (WIDE, False, "view=time&colour=gil&table=threads&t=2000000000-6000000000"),
    "search-dark": (WIDE, True, "q=app.py%3A20&f=1&flip=1&sort=total"),
    "least-light": (LEAST, False, "f=1"),
    "print": (PAPER, True, "f=1&q=app.py"),
    "diff-wide-light": (WIDE, False, ""),
    "diff-narrow-dark": (NARROW, True, "view=callers&table=threads&t=2000000000-6000000000"),
}
# The faults that are put into the page, by name: a text of the page's script or style, and what
# replaces it. (The text lacks the blanks that ui/pack.awk leaves out.)
FAULTS = {
    "colour": ("return fills[f.member%fills.length]", "return fills[(f.member + (f.name === 'a')) % fills.length]"),
    "4-pixels-off": ("g.fillRect(x,y,w>3", "g.fillRect(x + (i === 4 ? 4 : 0), y, w > 3"),
    "row": ("if(y>this.height||y<-ROW)", "if (y > this.height || y < -ROW || tree.depth[i] === 3)"),
    "text": ("g.fillText(text,x+4,y)", "g.fillText(text.slice(1), x + 4, y)"),
    "lane": ("g.fillStyle=fills[k];", "g.fillStyle = fills[k === 1 ? 0 : k];"),
    "panel": ("#side{display:flex;", "#side{display:flex;margin-left:4px;"),
    "diff-bars": ("(w-1)*lengths[0]", "(w - 1) * lengths[1]"),
}

# JavaScript that compares two pictures. It counts the pixels of each picture that have no similar
# pixel near the same place in the other picture. The arrows of selects don't count, because the
# browser draws them.
COMPARE = """(async (texts, masks) => {
    const pixels = async (text) => {
        const image = new Image();
        image.src = 'data:image/png;base64,' + text;
        await image.decode();
        const c = document.createElement('canvas'), g = c.getContext('2d', {willReadFrequently: true});
        c.width = image.width;
        c.height = image.height;
        g.drawImage(image, 0, 0);
        for (const [x, y, w, h] of masks)
            g.clearRect(x, y, w, h);
        return g.getImageData(0, 0, c.width, c.height);
    };
    const [a, b] = [await pixels(texts[0]), await pixels(texts[1])], w = a.width, h = a.height;
    if (b.width !== w || b.height !== h)
        return [w * h, 0, 0, w, h];
    const like = (p, i, q, k) => Math.abs(p[i] - q[k]) <= 6 && Math.abs(p[i + 1] - q[k + 1]) <= 6 && Math.abs(p[i + 2] - q[k + 2]) <= 6;
    const alone = (p, q, x, y) => {
        for (let v = Math.max(y - 1, 0); v <= Math.min(y + 1, h - 1); v++) {
            for (let u = Math.max(x - 1, 0); u <= Math.min(x + 1, w - 1); u++) {
                if (like(p, (y * w + x) * 4, q, (v * w + u) * 4))
                    return false;
            }
        }
        return true;
    };
    let n = 0, left = w, top = h, right = 0, bottom = 0;
    for (let y = 0; y < h; y++) {
        for (let x = 0; x < w; x++) {
            const i = (y * w + x) * 4;
            if (like(a.data, i, b.data, i) || !alone(a.data, b.data, x, y) && !alone(b.data, a.data, x, y))
                continue;
            n++;
            left = Math.min(left, x);
            right = Math.max(right, x + 1);
            top = Math.min(top, y);
            bottom = Math.max(bottom, y + 1);
        }
    }
    return [n, left, top, right, bottom];
})"""
MASKS = """[...document.querySelectorAll('select')].map((e) => {
    const r = e.getBoundingClientRect();
    return [Math.floor(r.right) - 22, Math.floor(r.top) + 2, 20, r.height - 4];
})"""
MOST = 20  # how many pixels of a picture may differ from the reference


def await_notes(b, n):
    """Waits until the page has made the notes beside the functions in its table @n times, and then
    for 0.4 s not again. The page makes these notes 0.15 s after each table."""
    end, made, since = time.monotonic() + 20, 0, 0
    while time.monotonic() < end and (made < n or time.monotonic() < since + 0.4):
        now = b.js("performance.getEntriesByName('krait:notes').length")
        made, since = now, since if now == made else time.monotonic()
        time.sleep(0.02)


def shoot(b, page, shot):
    size, dark, fragment = shot
    b.scheme(dark, "print" if size == PAPER else "")
    b.resize(*size)
    b.open("/dev/null")
    b.errors.clear()
    b.open(page, "#" + fragment if fragment else "")
    await_notes(b, 1)
    # at this size the page draws the table again, and the table's notes come later
    if size == PAPER:
        made = b.js("performance.getEntriesByName('krait:notes').length")
        b.js("window.dispatchEvent(new Event('beforeprint'))")
        await_notes(b, made + 1)
    b.js("new Promise((done) => setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(done)), 50))", wait=True)
    data = b.call("Page.captureScreenshot", {"format": "png"})["data"]
    return data, b.js(MASKS)


def difference(b, data, masks, reference):
    """Compares two pictures. Returns how many pixels differ, and the rectangle in which they are.
    Does so on an empty page, because the policy of krait's page forbids loading pictures."""
    b.open("/dev/null")
    return b.js(f"{COMPARE}([{data!r}, {base64.b64encode(reference.read_bytes()).decode()!r}], {masks})", wait=True)


def told(found):
    n, left, top, right, bottom = found
    return f"{n} pixels differ, in x {left} to {right}, y {top} to {bottom}"


def seeded(page, old, new):
    """Returns the page with a fault put into its script or style, and with a security policy that
    allows the changed text."""
    text = page.read_text()
    assert text.count(old) == 1, f"{old!r} isn't in the page once: seed the fault elsewhere"
    text = text.replace(old, new)
    for kind in ("script", "style"):
        body = text.split(f"<{kind}>", 1)[1].split(f"</{kind}>", 1)[0]
        pin = base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()
        text = re.sub(f"{kind}-src 'sha256-[^']*'", lambda _, k=kind, p=pin: f"{k}-src 'sha256-{p}'", text, count=1)
    out = page.with_name("seeded.html")
    out.write_text(text)
    return out


def page_of(pages, name):
    return pages / ("diff-picture.html" if name.startswith("diff") else "picture.html")


def compare(b, pages):
    bad = 0
    for name, shot in SHOTS.items():
        data, masks = shoot(b, page_of(pages, name), shot)
        found = difference(b, data, masks, REFERENCES / f"{name}.png")
        if found[0] > MOST or b.errors:
            (pages / f"{name}.png").write_bytes(base64.b64decode(data))
            print(f"FAIL page-picture-{name}: {b.errors or told(found)}")
            bad = 1
        else:
            print(f"PASS page-picture-{name}")
    seeds = list(FAULTS.items())
    for name, (old, new) in seeds if os.environ.get("KRAIT_TEST_FULL") else seeds[:1]:
        seen_in = "diff-wide-light" if name.startswith("diff") else "wide-light"
        data, masks = shoot(b, seeded(page_of(pages, name), old, new), SHOTS[seen_in])
        found = difference(b, data, masks, REFERENCES / f"{seen_in}.png")
        if found[0] > MOST and not b.errors:
            print(f"PASS page-picture-sees-{name}: {told(found)}")
        else:
            print(f"FAIL page-picture-sees-{name}: {b.errors or told(found)}")
            bad = 1
    return bad


def main():
    pages = pathlib.Path(sys.argv[1])
    if not browser.find():
        print("SKIP page-pictures: no Chromium")
        return 0
    fonts = pages / "fonts"
    fonts.mkdir(exist_ok=True)
    with browser.Browser(fonts=block_font.install(fonts)) as b:
        if "--update" not in sys.argv:
            return compare(b, pages)
        REFERENCES.mkdir(exist_ok=True)
        for name, shot in SHOTS.items():
            (REFERENCES / f"{name}.png").write_bytes(base64.b64decode(shoot(b, page_of(pages, name), shot)[0]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
