/** Finds the `palisade …` commands in a page, and checks them against the table of verbs. */
import { problem } from './check.mjs';
import { spansOf } from './markdown.mjs';

const shells = new Set(['', 'sh', 'bash', 'shell', 'zsh', 'console', 'text']);
const command = /(?:^|[;&|(]\s*|\bnpx\s+|\bsudo\s+|\/)palisade(?:\.js)?\s+([^;&|)`]*)/g;

/** Checks every command of a page: it must begin with the words of a verb, and have flags of that verb or of all. */
export function judgeCommands(file, lines, verbs, common) {
  const known = verbs.map((row) => row.words.split(' '));
  return commandsOf(lines).flatMap(({ line, words }) => {
    const typed = `run "palisade ${words.join(' ')}"`;
    if (!isKnown(words, known)) return [problem(file, line, `${typed}: no such verb`)];
    return wrongFlags(words, verbs, common).map((flag) => problem(file, line, `${typed}: it has no ${flag}`));
  });
}

/** The flags that the verb of a command does not have; what follows `--` is passed on. */
function wrongFlags(words, verbs, common) {
  const [verb] = verbs
    .filter((row) => row.words.split(' ').every((word, at) => word === words[at]))
    .sort((a, b) => b.words.length - a.words.length);
  if (verb === undefined) return [];
  const own = new Set([...verb.flags, ...common].map(({ name }) => name));
  const end = words.indexOf('--');
  return words
    .slice(0, end === -1 ? words.length : end)
    .flatMap((word) => /^--([a-z][a-z-]*)/.exec(word)?.[1] ?? [])
    .filter((name) => !own.has(name))
    .map((name) => `--${name}`);
}

function commandsOf(lines) {
  const prompted = new Set(
    lines.filter((each) => each.isCode && /^\s*\$ /.test(each.content)).map((each) => each.block),
  );
  return lines.flatMap(({ line, content, isCode, language, block }) => {
    if (!isCode) return spansOf(content).flatMap((span) => parse(line, span));
    if (!shells.has(language)) return [];
    // In a block with prompts the other lines are output.
    if (prompted.has(block) && !/^\s*\$ /.test(content)) return [];
    return parse(line, content.trim().replace(/^\$ /, ''));
  });
}

function parse(line, text) {
  const typed = text.replace(/(^|\s)#.*$/, '').replace(/^(\w+=\S*\s+)+/, '');
  return [...typed.matchAll(command)].map((match) => ({ line, words: match[1].trim().split(/\s+/) }));
}

function isKnown(words, known) {
  const isOpen = (word) => word === undefined || word === '' || /^(-|<|\[|…|\.\.\.)/.test(word);
  if (isOpen(words[0])) return true;
  return known.some((verb) => {
    const same = verb.findIndex((word, at) => word !== words[at]);
    // A group alone (`palisade policy`, `palisade policy --help`) is known when a verb begins with it.
    return same === -1 || (same > 0 && isOpen(words[same]));
  });
}
