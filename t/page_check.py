#!/usr/bin/env python3
"""page_check.py - is this a page of `muster report -o html` that can be sent to anybody?

    page_check.py FILE

Tags are balanced, there is no script, no handler, no form and no reference to anything outside. Prints what is
wrong, a line each; then "ok" if nothing is.
"""
import re
import sys
from html.parser import HTMLParser

VOID = {'meta', 'br', 'hr', 'img', 'input', 'link'}
FORBIDDEN = {'script', 'img', 'link', 'iframe', 'object', 'embed', 'form', 'base', 'a', 'use', 'foreignobject', 'audio', 'video'}
wrong = []


class Page(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attrs):
        if tag in FORBIDDEN:
            wrong.append(f'<{tag}>')
        for name, value in attrs:
            if name.startswith('on') or name in ('src', 'href', 'xlink:href', 'style', 'srcdoc', 'action'):
                wrong.append(f'{name} of <{tag}>')
            if name == 'd' and not re.fullmatch(r'[ML0-9. -]*', value or ''):
                wrong.append(f'path: {value[:80]}')
            if name in ('x', 'width') and value and re.search(r'nan|inf|--', value):
                wrong.append(f'{name}: {value}')
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            wrong.append(f'</{tag}> closes another one')


text = open(sys.argv[1], encoding='utf-8').read()
page = Page()
page.feed(text)
page.close()
if page.open:
    wrong.append(f'open at the end: {page.open}')
style = re.search(r'<style>(.*?)</style>', text, re.S).group(1)
if re.search(r'url\(|@import|expression', style):
    wrong.append('the style refers to something')
bad = re.search('[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069]', text)
if bad:
    wrong.append(f'a control character: {bad.group(0)!r}')
print('\n'.join(wrong or ['ok']))
