#!/usr/bin/env python3
"""Writes the documentation as static pages: see README.md beside this file.

Reading guide: Site.build is the order of what is done. Markdown becomes HTML by cmark-gfm; what is done to it then are the
functions of Page: anchors of headings, links, colours of code. Check follows every link of what was written.
"""
import argparse
import html
import html.parser
import os
import posixpath
import re
import shutil
import subprocess
import sys
import urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
GALLERY = 'examples/gallery.html'
# What stands in the menu, in its order: title of the group, pages.
MENU = [
    ('Begin', ['README.md', 'docs/tutorial.md', 'docs/fine_tuning.md', GALLERY]),
    ('From elsewhere', ['docs/pytorch.md', 'docs/jax.md', 'docs/mindspore.md', 'docs/megatron.md']),
    ('Language and programs', ['docs/language.md', 'docs/program.md', 'docs/data.md', 'docs/weights.md', 'docs/checkpoints.md',
                               'docs/inference.md', 'docs/launch.md', 'docs/sweeps.md', 'docs/cuda.md']),
    ('Plans', ['docs/search.md', 'docs/cost.md', 'docs/memory.md', 'docs/manual.md', 'docs/proof.md', 'docs/plan_page.md', 'docs/limits.md']),
    ('Formats and codes', ['docs/formats', 'docs/errors']),
    ('Project', ['docs/architecture.md', 'docs/adding_an_op.md', 'docs/words.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'SECURITY.md', 'LICENSE']),
]
KEYWORDS = ('as assert choose else fn for if import in input let layer loss metric model mut op parallel param pin print record '
            'return train true false with').split()
MOST_SHOWN = 400_000  # Bytes of a file that is shown as text.


def tracked():
    """The files of the repository, by git: nothing that a build has made."""
    out = subprocess.run(['git', '-C', ROOT, 'ls-files', '-z', '--cached', '--others', '--exclude-standard'], check=True, capture_output=True)
    return sorted(f for f in out.stdout.decode().split('\0') if f and os.path.isfile(os.path.join(ROOT, f)))


def read(path):
    with open(os.path.join(ROOT, path), encoding='utf-8') as file:
        return file.read()


def slug(text, used):
    """The anchor that GitHub gives a heading."""
    name = re.sub(r'[^\w\- ]', '', text.strip().lower()).replace(' ', '-')
    number = used.get(name, -1) + 1
    used[name] = number
    return name if number == 0 else f'{name}-{number}'


def plain(fragment):
    return html.unescape(re.sub(r'<[^>]*>', '', fragment))


def coloured(code):
    """Code of a model, which is escaped for HTML, with comments, strings and words of the language marked."""
    pattern = r'(?P<c>//[^\n]*)|(?P<s>&quot;.*?&quot;)|(?P<k>(?<![\w.])(?:%s)\b)' % '|'.join(KEYWORDS)
    return re.sub(pattern, lambda m: f'<span class="{m.lastgroup}">{m.group()}</span>', code)


def curve(losses, width=240, height=40):
    """The losses as a line of SVG."""
    low, high = min(losses), max(losses)
    span = (high - low) or 1
    points = ' '.join(f'{i * width / max(1, len(losses) - 1):.1f},{4 + (high - x) / span * (height - 8):.1f}' for i, x in enumerate(losses))
    return (f'<svg viewBox="0 0 {width} {height}" preserveAspectRatio="none" role="img" aria-label="losses from {losses[0]:g} to {losses[-1]:g}">'
            f'<polyline points="{points}" fill="none" stroke="currentColor" stroke-width="1.5" vector-effect="non-scaling-stroke"/></svg>')


def stored(path):
    """{command: what it gives} of a file of tests/examples, in which commands begin with `$ `."""
    results = {}
    for part in re.split(r'^\$ ', read(path), flags=re.M)[1:]:
        command, _, text = part.partition('\n')
        results[command] = text.rstrip()
    return results


class Page:
    def __init__(self, url, title, body, source=None):
        self.url, self.title, self.body, self.source = url, title, body, source
        self.sections = []  # (anchor, level, heading, text)

    def anchored(self):
        """Gives headings their anchors, and finds the sections."""
        used = {}

        def head(match):
            level, inner = int(match.group(1)), match.group(2)
            anchor = slug(plain(inner), used)
            return f'<h{level} id="{anchor}">{inner}<a class="anchor" href="#{anchor}" aria-label="link to this section">#</a></h{level}>'

        self.body = re.sub(r'<h([1-6])>(.*?)</h\1>', head, self.body, flags=re.S)
        parts = re.split(r'(<h[1-4] id="[^"]*">.*?</h[1-4]>)', self.body, flags=re.S)
        for i in range(1, len(parts), 2):
            match = re.match(r'<h(\d) id="([^"]*)">(.*?)<a class="anchor"', parts[i], flags=re.S)
            self.sections.append((match.group(2), int(match.group(1)), plain(match.group(3)), plain(parts[i + 1])))
        return self


class Site:
    def __init__(self, out, cleave, makes_plans):
        self.out, self.cleave, self.makes_plans = out, cleave, makes_plans
        self.files = tracked()
        self.known = set(self.files)
        self.folders = {posixpath.dirname(f) for f in self.files}
        for folder in list(self.folders):
            while folder:
                folder = posixpath.dirname(folder)
                self.folders.add(folder)
        self.pages = {}  # By URL.
        self.wanted = []  # Files and folders that pages link to, and that have no page yet.

    def url_of(self, path):
        """The URL of a file or folder of the repository."""
        if path in self.folders:
            readme = posixpath.join(path, 'README.md')
            return self.url_of(readme) if readme in self.known else posixpath.join(path, 'index.html')
        if path == 'README.md':
            return 'index.html'
        if path.endswith('/README.md'):
            return path[:-len('README.md')] + 'index.html'
        return path[:-3] + '.html' if path.endswith('.md') else path + '.html'

    def link(self, page_path, target):
        """Where a link of a page leads: targets within the repository become pages of the site."""
        if re.match(r'[a-z]+:', target) or target.startswith('#'):
            return target
        path, _, anchor = target.partition('#')
        path = posixpath.normpath(posixpath.join(posixpath.dirname(page_path), urllib.parse.unquote(path)))
        if path == '.':
            path = ''
        if path not in self.known and path not in self.folders:
            return target  # Check names it.
        self.wanted.append(path)
        url = posixpath.relpath(self.url_of(path), posixpath.dirname(self.url_of(page_path)) or '.')
        return url + ('#' + anchor if anchor else '')

    def markdown(self, path, text=None):
        """A file of Markdown, or a text as if it stood there, as HTML."""
        command = ['cmark-gfm', '-e', 'table', '-e', 'strikethrough', '-e', 'autolink', '--to', 'html']
        body = subprocess.run(command, input=(text if text is not None else read(path)).encode(), check=True, capture_output=True).stdout.decode()
        body = re.sub(r'href="([^"]*)"', lambda m: f'href="{html.escape(self.link(path, html.unescape(m.group(1))))}"', body)
        body = re.sub(r'<pre><code class="language-rust[^"]*">(.*?)</code></pre>', lambda m: f'<pre><code>{coloured(m.group(1))}</code></pre>', body, flags=re.S)
        return body.replace('<table>', '<div class="table"><table>').replace('</table>', '</table></div>')

    def add(self, page):
        self.pages[page.url] = page.anchored()

    def add_file(self, path):
        """A page for a file or a folder to which one links."""
        url = self.url_of(path)
        if url in self.pages:
            return
        if path in self.folders:
            names = sorted({f[len(path):].lstrip('/').split('/')[0] for f in self.files if f.startswith(path + '/' if path else '')})
            items = ''.join(f'<li><a href="{html.escape(self.link(posixpath.join(path, "x"), name))}">{html.escape(name)}</a></li>' for name in names)
            if path == 'docs/errors':  # Each code with its title.
                titles = {name: read(f'{path}/{name}').split('\n')[0].lstrip('# ') for name in names}
                items = ''.join(f'<li><a href="{name[:-3]}.html">{html.escape(titles[name])}</a></li>' for name in names)
            title = 'Diagnostic codes' if path == 'docs/errors' else path + '/'
            self.add(Page(url, title, f'<h1>{html.escape(title)}</h1><ul>{items}</ul>'))
        elif path.endswith('.md'):
            body = self.markdown(path)
            heading = re.search(r'<h1>(.*?)</h1>', body, flags=re.S)
            self.add(Page(url, plain(heading.group(1)) if heading else path, body, path))
        else:
            with open(os.path.join(ROOT, path), 'rb') as file:
                data = file.read(MOST_SHOWN)
            try:
                text = html.escape(data.decode())
            except UnicodeDecodeError:
                text = f'{os.path.getsize(os.path.join(ROOT, path))} bytes that are no text'
            body = coloured(text) if path.endswith('.model') else text
            self.add(Page(url, path, f'<h1>{html.escape(path)}</h1><pre><code>{body}</code></pre>'))

    def plan_page(self, model, command):
        """The page of a plan, of the stored command that has it; its URL, or None."""
        url = model[:-len('.model')] + '.plan.html'
        file = os.path.join(self.out, url)
        os.makedirs(os.path.dirname(file), exist_ok=True)
        words = command.split()
        done = subprocess.run([self.cleave, *words[1:], '--html', file, '--quiet'], cwd=ROOT, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f'`{command} --html` failed:\n{done.stderr}')
        return url

    def gallery(self):
        plans, losses = stored('tests/examples/plans.txt'), stored('tests/examples/losses.txt')
        named = ' '.join(plans) + ' '
        models = [f for f in self.files if re.fullmatch(r'examples/[^/]+/[^/]+\.model', f) and f' {f} ' in named]
        cards = []
        for model in models:
            source = read(model)
            says = re.match(r'// ?(.*(?:\n// ?.*)*)', source)
            about = re.sub(r'\n// ?', ' ', says.group(1)) if says else ''
            own = lambda results: {c: t for c, t in results.items() if f' {model} ' in c + ' '}
            runs, planned = own(losses), own(plans)
            name = posixpath.basename(model)[:-len('.model')]
            text = [f'# {name}', about]
            if self.makes_plans:
                page = posixpath.basename(self.plan_page(model, next(iter(planned))))
                text.append(f'[The plan as a page](@PLAN@{page}) · [README](README.md)')
            else:
                text.append('[README](README.md)')
            text += ['## Source', '```rust fragment\n' + source.rstrip() + '\n```', '## Plan']
            text += [f'```\n$ {c}\n{t}\n```' for c, t in planned.items()]
            text += ['## Losses'] + ([f'```\n$ {c}\n{t}\n```' for c, t in runs.items()] or ['None are stored.'])
            body = self.markdown(model, '\n\n'.join(text)).replace('@PLAN@', '')
            self.add(Page(self.url_of(model), name, body))
            numbers = [float(x) for t in list(runs.values())[:1] for x in t.split() if re.fullmatch(r'-?[\d.]+(e-?\d+)?', x)]
            link = posixpath.relpath(self.url_of(model), 'examples')
            cards.append(f'<a href="{html.escape(link)}"><b>{html.escape(name)}</b><p>{html.escape(about)}</p>{curve(numbers) if len(numbers) > 1 else ""}</a>')
        body = f'<h1>Examples</h1><p>{len(models)} models, each with its source, its plan and its losses. The line is that of the first steps on one rank.</p><div class="cards">{"".join(cards)}</div>'
        self.add(Page(GALLERY, 'Examples', body))

    def menu(self, page):
        lines = []
        for group, paths in MENU:
            lines.append(f'<b>{group}</b><ul>')
            for path in paths:
                url = path if path == GALLERY else self.url_of(path)
                title = 'Cleave' if path == 'README.md' else self.pages[url].title.split(':')[0] if url in self.pages else path
                here = ' aria-current="page"' if url == page.url else ''
                lines.append(f'<li><a href="{self.relative(page, url)}"{here}>{html.escape(title)}</a></li>')
            lines.append('</ul>')
        return ''.join(lines)

    @staticmethod
    def relative(page, url):
        return posixpath.relpath(url, posixpath.dirname(page.url) or '.')

    def write(self, page):
        root = '../' * page.url.count('/')
        contents = ''.join(f'<li class="{"deeper" if level > 2 else ""}"><a href="#{anchor}">{html.escape(heading)}</a></li>'
                           for anchor, level, heading, _ in page.sections if level in (2, 3))
        title = page.title if page.url == 'index.html' else f'{page.title} · Cleave'
        text = f'''<!DOCTYPE html>
<html lang="en" data-root="{root}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{html.escape(title)}</title>
<link rel="stylesheet" href="{root}style.css">
</head>
<body>
<header><a href="{root}index.html">Cleave</a><form><input type="search" placeholder="Search (/)" aria-label="Search" autocomplete="off"><ul id="results"></ul></form></header>
<div class="page">
<nav class="menu" aria-label="Pages"><details open><summary>Pages</summary>{self.menu(page)}</details></nav>
<main>
{page.body}
</main>
<nav class="contents" aria-label="On this page"><ul>{contents}</ul></nav>
</div>
<script src="{root}search_index.js"></script>
<script src="{root}search.js"></script>
</body>
</html>
'''
        file = os.path.join(self.out, page.url)
        os.makedirs(os.path.dirname(file), exist_ok=True)
        with open(file, 'w', encoding='utf-8') as out:
            out.write(text)

    def search_index(self):
        """Of pages of Markdown and of models: `sections` as [url, heading, page], `words` as steps from section to section in base 36."""
        def base36(number):
            digits = ''
            while True:
                number, digit = divmod(number, 36)
                digits = '0123456789abcdefghijklmnopqrstuvwxyz'[digit] + digits
                if number == 0:
                    return digits

        sections, words = [], {}
        # Pages of the menu first: of equal matches they are shown first.
        order = [path if path == GALLERY else self.url_of(path) for _, paths in MENU for path in paths]
        rank = {url: i for i, url in enumerate(order)}
        for page in sorted(self.pages.values(), key=lambda p: (rank.get(p.url, len(rank)), p.url)):
            for anchor, level, heading, text in page.sections:
                number = len(sections)
                first = level == 1
                sections.append([page.url if first else f'{page.url}#{anchor}', heading, '' if first else page.title])
                for word in set(re.findall(r'[^\W_][\w]*', (heading + ' ' + text).lower())):
                    if 2 <= len(word) <= 40 and not re.fullmatch(r'[\d_]+', word):
                        words.setdefault(word, []).append(number)
        import json
        coded = {word: ' '.join(base36(b - a) for a, b in zip([0] + found, found)) for word, found in sorted(words.items())}
        with open(os.path.join(self.out, 'search_index.js'), 'w', encoding='utf-8') as out:
            out.write('const sections = ' + json.dumps(sections, ensure_ascii=False, separators=(',', ':')) + ';\n')
            out.write('const words = ' + json.dumps(coded, ensure_ascii=False, separators=(',', ':')) + ';\n')

    def build(self):
        os.makedirs(self.out, exist_ok=True)
        for _, paths in MENU:
            self.wanted += [path for path in paths if path != GALLERY]
        self.gallery()
        self.wanted += [f for f in self.files if f.endswith('.md')]
        done = set()
        while self.wanted:
            path = self.wanted.pop()
            if path not in done:
                done.add(path)
                self.add_file(path)
        for page in self.pages.values():
            self.write(page)
        for name in ('style.css', 'search.js'):
            shutil.copy(os.path.join(HERE, name), self.out)
        self.search_index()


class Links(html.parser.HTMLParser):
    """What a page links to, and its anchors."""

    def __init__(self):
        super().__init__()
        self.links, self.anchors = [], set()

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        if values.get('id'):
            self.anchors.add(values['id'])
        for name in ('href', 'src'):
            if values.get(name):
                self.links.append(values[name])


def check(out):
    """The links of all pages that lead nowhere, as "page: link"."""
    found = {}
    for folder, _, names in os.walk(out):
        for name in names:
            if not name.endswith('.html') or name.endswith('.plan.html'):
                continue
            file = os.path.join(folder, name)
            parser = Links()
            with open(file, encoding='utf-8') as text:
                parser.feed(text.read())
            found[os.path.normpath(file)] = parser
    broken, count = [], 0
    for file, parser in found.items():
        for link in parser.links:
            if re.match(r'[a-z]+:', link):
                continue
            count += 1
            path, _, anchor = urllib.parse.unquote(link).partition('#')
            target = os.path.normpath(os.path.join(os.path.dirname(file), path)) if path else file
            if not os.path.isfile(target):
                broken.append(f'{os.path.relpath(file, out)}: {link}')
            elif anchor and target in found and anchor not in found[target].anchors:
                broken.append(f'{os.path.relpath(file, out)}: {link} (no such section)')
    return broken, count, len(found)


def main():
    parser = argparse.ArgumentParser(description='Writes the documentation as static pages.')
    parser.add_argument('--out', required=True, help='an empty folder, or one that this has written')
    parser.add_argument('--cleave', default=os.path.join(ROOT, 'bazel-bin/tools/cleave'), help='for the pages of plans')
    parser.add_argument('--plans', choices=['yes', 'no'], default='yes')
    arguments = parser.parse_args()
    if shutil.which('cmark-gfm') is None:
        sys.exit('cmark-gfm is not there: apt-get install cmark-gfm')
    out = os.path.abspath(arguments.out)
    if os.path.isdir(out) and os.listdir(out):
        if not os.path.isfile(os.path.join(out, 'search_index.js')):
            sys.exit(f'`{arguments.out}` holds files that this has not written')
        shutil.rmtree(out)
    Site(out, os.path.abspath(arguments.cleave), arguments.plans == 'yes').build()
    broken, count, pages = check(out)
    for line in broken:
        print(line, file=sys.stderr)
    print(f'{pages} pages in {arguments.out}; {count} links followed, {len(broken)} lead nowhere')
    sys.exit(1 if broken else 0)


if __name__ == '__main__':
    main()
