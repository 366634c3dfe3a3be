/* The search: every word must be there, and a word of a title counts more than one of the text. */

const MOST = 40;
const EXCERPT = 220;
const FOR_CONTRIBUTORS = /^(architecture|changelog|contributing|decisions|dependencies|performance|tour)\b/;

const field = document.querySelector('input[type="search"]');
const results = document.getElementById('results');
const count = document.getElementById('count');
const entries = globalThis.searchIndex.map(([url, title, heading, body]) => ({
  ...{ url, title, heading, body },
  lower: { title: title.toLowerCase(), heading: heading.toLowerCase(), body: body.toLowerCase() },
}));

field.value = new URLSearchParams(location.search).get('q') ?? '';
field.addEventListener('input', () => {
  history.replaceState(null, '', `?q=${encodeURIComponent(field.value)}`);
  show(field.value);
});
show(field.value);
field.focus();

function show(query) {
  const words = query
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '');
  const found = words.length === 0 ? [] : find(words);
  results.replaceChildren(...found.slice(0, MOST).map((entry) => itemOf(entry, words)));
  count.textContent = words.length === 0 ? '' : sentenceOf(found.length);
}

function sentenceOf(number) {
  if (number === 0) return 'Nothing has all of these words.';
  return number > MOST
    ? `${number} sections, the first ${MOST}:`
    : `${number} section${number === 1 ? '' : 's'}`;
}

function find(words) {
  return entries
    .map((entry) => ({ entry, score: scoreOf(entry, words) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
    .map(({ entry }) => entry);
}

function scoreOf({ lower, url }, words) {
  let score = 0;
  for (const word of words) {
    const here =
      (has(lower.heading, word) ? 8 : 0) + (has(lower.title, word) ? 4 : 0) + timesOf(lower.body, word);
    if (here === 0) return 0;
    score += here;
  }
  // How a thing is comes before how it was built, decided and changed.
  return FOR_CONTRIBUTORS.test(url) ? score / 4 : score;
}

/** A whole word counts fully, a part of one too: `egress` finds `--egress-host`. */
function has(text, word) {
  return text.includes(word);
}

function timesOf(text, word) {
  return Math.min(3, text.split(word).length - 1);
}

function itemOf({ url, title, heading, body, lower }, words) {
  const link = document.createElement('a');
  link.href = url;
  link.textContent = heading === title ? title : `${title}: ${heading}`;
  const first = Math.min(
    ...words.map((word) => lower.body.indexOf(word)).filter((at) => at >= 0),
    body.length,
  );
  const from = Math.max(0, body.lastIndexOf(' ', Math.max(0, first - 60)) + 1);
  const text = `${from > 0 ? '… ' : ''}${body.slice(from, from + EXCERPT)}${from + EXCERPT < body.length ? ' …' : ''}`;
  const excerpt = document.createElement('p');
  excerpt.append(...marked(text, words));
  const item = document.createElement('li');
  item.append(link, excerpt);
  return item;
}

/** The text, with the words in it marked. */
function marked(text, words) {
  const pattern = new RegExp(
    `(${words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('|')})`,
    'gi',
  );
  return text.split(pattern).map((part, at) => {
    if (at % 2 === 0) return part;
    const mark = document.createElement('mark');
    mark.textContent = part;
    return mark;
  });
}
