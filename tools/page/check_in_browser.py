#!/usr/bin/env python3
"""Opens pages of plans in headless Chromium and says what is wrong with them: by hand, no test runs it.

  check_in_browser.py [--out FOLDER] [--chromium PROGRAM] PAGE.html ...

At 390 and 1,280 pixels, light and dark: messages in the console, exceptions, requests, what is wider than the window,
and text whose contrast with its background is below 4.5 to 1 (WCAG 2.1, 1.4.3). Without scripts the verdict must be
there. Then it goes through the page with the Tab key, opens a tile of the tree with Enter, and prints to PDF. With
--out it writes screenshots. Needs Debian's `chromium` and nothing else: it speaks the DevTools protocol over a pipe.
"""
import argparse
import base64
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

WIDER = """(() => {
  const width = document.documentElement.clientWidth, wider = [];
  for (const node of document.querySelectorAll('body *')) {
    const box = node.getBoundingClientRect();
    if (!(box.width > 0) || box.right <= width + 1) continue;
    let inside = node.parentElement;
    while (inside && !['auto', 'scroll', 'hidden'].includes(getComputedStyle(inside).overflowX)) inside = inside.parentElement;
    if (inside === null || inside === document.body || node.closest('.skip')) wider.push(node.tagName + '.' + node.getAttribute('class'));
  }
  return {scrolls: document.documentElement.scrollWidth > width, wider: [...new Set(wider)].slice(0, 8)};
})()"""

CONTRAST = """(() => {
  const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
  const rgb = (color) => {
    canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = color; canvas.fillRect(0, 0, 1, 1);
    return canvas.getImageData(0, 0, 1, 1).data;
  };
  const light = (c) => {
    const [r, g, b] = [0, 1, 2].map((i) => { const v = c[i] / 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (node) => {
    if (node.ownerSVGElement) {
      const box = node.getBoundingClientRect();
      const all = [...node.ownerSVGElement.querySelectorAll('rect')].filter((rect) => {
        const own = rect.getBoundingClientRect();
        return own.left <= box.left + box.width / 2 && own.right >= box.left + box.width / 2 && own.top <= box.top + box.height / 2 && own.bottom >= box.top + box.height / 2 &&
          (rect.compareDocumentPosition(node) & Node.DOCUMENT_POSITION_FOLLOWING);
      });
      if (all.length) return rgb(getComputedStyle(all[all.length - 1]).fill);
    }
    for (let own = node; own; own = own.parentElement) {
      const color = rgb(getComputedStyle(own).backgroundColor);
      if (color[3] > 200) return color;
    }
    return [255, 255, 255, 255];
  };
  const low = new Map();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim() || !node.checkVisibility() || ['SCRIPT', 'STYLE', 'TITLE', 'title', 'OPTION', 'NOSCRIPT'].includes(node.tagName)) continue;
    const style = getComputedStyle(node);
    const ink = light(rgb(node.ownerSVGElement ? style.fill : style.color)), paper = light(behind(node));
    const ratio = (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
    if (ratio < 4.5) low.set(node.tagName + '.' + node.getAttribute('class') + ' ' + ratio.toFixed(1), node.textContent.slice(0, 30));
  }
  return [...low].slice(0, 8);
})()"""

CUT_OFF = """[...document.querySelectorAll('td, th, dd, dt, .name, .layout, summary, p, h1, button')].filter((node) =>
  node.checkVisibility() && node.scrollWidth > node.clientWidth + 2 && getComputedStyle(node).display !== 'inline').map((node) =>
  node.tagName + '.' + node.getAttribute('class') + ' ' + node.textContent.slice(0, 40)).slice(0, 8)"""


class Browser:
  def __init__(self, program):
    to_read, self.to_write = os.pipe()
    self.from_read, from_write = os.pipe()

    def wire():  # The browser reads commands from descriptor 3 and writes answers to 4.
      held = os.dup2(to_read, 30), os.dup2(from_write, 31)
      os.dup2(held[0], 3)
      os.dup2(held[1], 4)

    self.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
    self.process = subprocess.Popen(
        [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
         f"--user-data-dir={self.folder.name}", "--remote-debugging-pipe", "about:blank"],
        preexec_fn=wire, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    os.close(to_read)
    os.close(from_write)
    self.number, self.rest, self.events, self.session = 0, b"", [], None
    pages = [own for own in self.call("Target.getTargets")["targetInfos"] if own["type"] == "page"]
    self.session = self.call("Target.attachToTarget", targetId=pages[0]["targetId"], flatten=True)["sessionId"]
    for domain in ("Page", "Runtime", "Log", "Network"):
      self.call(f"{domain}.enable")

  def message(self):
    while b"\0" not in self.rest:
      piece = os.read(self.from_read, 1 << 20)
      if not piece:
        raise RuntimeError("the browser has ended")
      self.rest += piece
    one, self.rest = self.rest.split(b"\0", 1)
    return json.loads(one)

  def call(self, method, **parameters):
    self.number += 1
    command = {"id": self.number, "method": method, "params": parameters}
    if self.session is not None:
      command["sessionId"] = self.session
    os.write(self.to_write, json.dumps(command).encode() + b"\0")
    while True:
      message = self.message()
      if message.get("id") == self.number:
        if "error" in message:
          raise RuntimeError(f"{method}: {message['error']}")
        return message["result"]
      self.events.append(message)

  def value(self, expression):
    answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
    if "exceptionDetails" in answer:
      raise RuntimeError(answer["exceptionDetails"])
    return answer["result"].get("value")

  def press(self, key, code):
    for kind in ("rawKeyDown", "keyUp"):
      self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code,
                **({"text": "\r"} if key == "Enter" and kind == "rawKeyDown" else {}))

  def open(self, path, width, dark, draws=True):
    self.events = []
    self.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width < 600)
    self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
    self.call("Page.navigate", url=path.resolve().as_uri())
    while self.value("document.readyState") != "complete" or self.value("location.href") == "about:blank":
      time.sleep(0.02)
    if draws:
      self.value("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    time.sleep(0.3)

  def complaints(self):
    said = []
    for event in self.events:
      method, values = event.get("method"), event.get("params", {})
      if method == "Runtime.exceptionThrown":
        said.append("exception: " + json.dumps(values["exceptionDetails"].get("exception", {}).get("description", values["exceptionDetails"].get("text"))))
      if method == "Log.entryAdded":
        said.append(f"log: {values['entry']['level']}: {values['entry']['text']}")
      if method == "Runtime.consoleAPICalled":
        said.append(f"console: {[own.get('value') for own in values['args']]}")
      if method == "Network.requestWillBeSent" and not values["request"]["url"].startswith("file:"):
        said.append(f"request: {values['request']['url']}")
    return said


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("--out", type=pathlib.Path)
  parser.add_argument("--chromium", default="/usr/lib/chromium/chromium")
  parser.add_argument("pages", nargs="+", type=pathlib.Path)
  options = parser.parse_args()
  if options.out:
    options.out.mkdir(parents=True, exist_ok=True)
  browser = Browser(options.chromium)
  wrong = 0
  for page in options.pages:
    for width in (390, 1280):
      for dark in (False, True):
        browser.open(page, width, dark)
        where = f"{page.name} {width} {'dark' if dark else 'light'}"
        found = browser.complaints()
        wider = browser.value(WIDER)
        if wider["scrolls"] or wider["wider"]:
          found.append(f"wider than the window: {wider}")
        found += [f"contrast: {own}" for own in browser.value(CONTRAST)]
        found += [f"cut off: {own}" for own in browser.value(CUT_OFF)]
        for one in found:
          print(f"{where}: {one}")
        wrong += len(found)
        if options.out:
          height = browser.value("document.documentElement.scrollHeight")
          for i, top in enumerate(range(0, height, 1400)):
            picture = browser.call("Page.captureScreenshot", captureBeyondViewport=True,
                                   clip={"x": 0, "y": top, "width": width, "height": min(height - top, 1400), "scale": 1})
            name = f"{page.stem}_{width}_{'dark' if dark else 'light'}_{i}.png"
            (options.out / name).write_bytes(base64.b64decode(picture["data"]))
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    browser.open(page, 1280, False, draws=False)
    if not browser.value("document.querySelector('#verdict .sentence').textContent.trim()"):
      print(f"{page.name}: no verdict without a script")
      wrong += 1
    if options.out:
      picture = browser.call("Page.captureScreenshot")
      (options.out / f"{page.stem}_no_script.png").write_bytes(base64.b64decode(picture["data"]))
    browser.call("Emulation.setScriptExecutionDisabled", value=False)
    browser.open(page, 1280, False)
    load = browser.value("performance.getEntriesByType('navigation')[0].loadEventEnd")
    focused = set()
    for _ in range(60):
      browser.press("Tab", 9)
      focused.add(browser.value("document.activeElement.closest('section, nav, body').id || document.activeElement.tagName"))
    opened = browser.value("(() => { const tile = document.querySelector('.tile[tabindex]'); if (!tile) return null; tile.focus(); return document.querySelectorAll('.crumbs > *').length; })()")
    if opened is not None:
      browser.press("Enter", 13)
      if browser.value("document.querySelectorAll('.crumbs > *').length") <= opened:
        print(f"{page.name}: Enter opens no tile")
        wrong += 1
    pdf = base64.b64decode(browser.call("Page.printToPDF", printBackground=True)["data"])
    if options.out:
      (options.out / f"{page.stem}.pdf").write_bytes(pdf)
      # Printing has opened what was folded.
      box = browser.value("(() => { const part = document.getElementById('choices'); if (!part) return null; const box = part.getBoundingClientRect();"
                          " return {x: 0, y: box.top + scrollY, width: 1280, height: Math.min(box.height, 1400), scale: 1}; })()")
      if box:
        picture = browser.call("Page.captureScreenshot", captureBeyondViewport=True, clip=box)
        (options.out / f"{page.stem}_choices.png").write_bytes(base64.b64decode(picture["data"]))
    for one in browser.complaints():
      print(f"{page.name}: {one}")
      wrong += 1
    print(f"{page.name}: {page.stat().st_size:,} bytes, loaded in {load:.0f} ms, {len(focused)} parts reached by 60 tabs, "
          f"{browser.value('document.querySelectorAll(`*`).length'):,} elements, PDF of {len(pdf):,} bytes")
  browser.call("Browser.close")
  browser.process.wait()
  print("nothing wrong" if wrong == 0 else f"{wrong} things wrong")
  sys.exit(wrong > 0)


main()
