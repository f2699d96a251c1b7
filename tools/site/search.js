// The search: `sections` and `words` are those of search_index.js. A section counts more for a word in its title.
'use strict';
(() => {
  const root = document.documentElement.dataset.root;
  const field = document.querySelector('header input');
  const list = document.getElementById('results');
  const known = Object.keys(words).sort();
  let chosen = -1;

  // The first place of `known` that is not before `word`.
  const placeOf = word => {
    let low = 0, high = known.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (known[middle] < word) low = middle + 1;
      else high = middle;
    }
    return low;
  };

  // Sections with their weights for what begins as `typed`.
  const found = typed => {
    const weights = new Map();
    for (let at = placeOf(typed); at < known.length && known[at].startsWith(typed); ++at) {
      const weight = known[at] === typed ? 3 : 1;
      let section = 0;
      for (const step of words[known[at]].split(' ')) {
        section += parseInt(step, 36);
        weights.set(section, Math.max(weights.get(section) || 0, weight));
      }
    }
    for (const [section, weight] of weights) {
      if (sections[section][1].toLowerCase().includes(typed)) weights.set(section, weight + 6);
      else if (sections[section][2].toLowerCase().includes(typed)) weights.set(section, weight + 2);
    }
    return weights;
  };

  const search = () => {
    const typed = field.value.toLowerCase().match(/[\p{L}\p{N}_]+/gu) || [];
    let all = null;
    for (const word of typed) {
      const weights = found(word);
      if (all === null) all = weights;
      else all = new Map([...all].filter(([section]) => weights.has(section)).map(([section, weight]) => [section, weight + weights.get(section)]));
    }
    const best = [...(all || [])].sort((a, b) => b[1] - a[1] || a[0] - b[0]).slice(0, 25);
    list.replaceChildren(...best.map(([section]) => {
      const [url, title, page] = sections[section];
      const link = document.createElement('a');
      link.href = root + url;
      link.textContent = title;
      const where = document.createElement('small');
      where.textContent = page;
      link.append(where);
      const item = document.createElement('li');
      item.append(link);
      return item;
    }));
    if (typed.length > 0 && best.length === 0) list.innerHTML = '<li><a>nothing found</a></li>';
    choose(best.length > 0 ? 0 : -1);
  };

  const choose = number => {
    const links = list.querySelectorAll('a');
    chosen = Math.max(-1, Math.min(number, links.length - 1));
    links.forEach((link, i) => link.classList.toggle('chosen', i === chosen));
    if (links[chosen]) links[chosen].scrollIntoView({block: 'nearest'});
  };

  field.addEventListener('input', search);
  field.addEventListener('keydown', event => {
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      choose(chosen + (event.key === 'ArrowDown' ? 1 : -1));
      event.preventDefault();
    } else if (event.key === 'Escape') {
      list.replaceChildren();
    }
  });
  field.form.addEventListener('submit', event => {
    event.preventDefault();
    const link = list.querySelectorAll('a')[chosen];
    if (link && link.href) location.href = link.href;
  });
  list.addEventListener('click', () => list.replaceChildren());
  document.addEventListener('click', event => { if (!field.form.contains(event.target)) list.replaceChildren(); });
  document.addEventListener('keydown', event => {
    if (event.key !== '/' || event.target === field) return;
    field.focus();
    event.preventDefault();
  });
  const asked = new URLSearchParams(location.search).get('q');
  if (asked) { field.value = asked; search(); }
  const menu = document.querySelector('.menu details');
  if (menu && matchMedia('(max-width: 48rem)').matches) menu.removeAttribute('open');
})();
