import { type AuditCheck, type Sighting, warning } from '../check.ts';
import { count } from '../module/words.ts';
import { lineAt } from '../prose/fold.ts';
import {
  findEncoded,
  findMixedWord,
  type HiddenKind,
  isMixedName,
  isOfOtherScript,
} from '../prose/hidden.ts';
import { findActiveLink, findDoubtfulLinks } from '../prose/links.ts';
import { findComment, type Material } from '../prose/material.ts';
import type { PhraseKind } from '../prose/phrases.table.ts';

const READ_IT = 'Read the passage as a model would, and accept it only if it is harmless.';
const DO_NOT_TYPE = 'Do not run, or let an agent run, what it says; a skill needs nothing but its package.';
/** This many urgent words, this close together, are not an accident. */
const URGENT_HITS = 3;
const URGENT_CHARS = 400;
/** Letters spaced one by one, a way of hiding words from a search. */
const SPELLED_OUT = /(?:^|[^a-z0-9])(?:[a-z][ .*_-]{1,3}){11}[a-z](?![a-z0-9])/;

/** The key of the Agent Skills form by which clients let tools run without a question. */
const ALLOWED_TOOLS = /^allowed-tools:/m;

/** What people and models read; the rest is for programs, or too much. */
const PROSE: readonly Material['kind'][] = ['name', 'listed', 'skill', 'page'];

export const PROSE_CHECKS: readonly AuditCheck[] = [
  hiddenCheck(
    'bidirectional',
    'A bidirectional control character, which changes the order in which text is displayed.',
  ),
  hiddenCheck('invisible', 'An invisible character, which a model still reads.'),
  hiddenCheck('control', 'A control character in a text.'),
  warning('prose/hidden-in-file', {
    sentence: 'Such a character in a file that only programs and authors read, such as source code.',
    remedy: 'View the file with a tool that shows such characters; the author can write them as escapes.',
    look: eachText(['file'], ({ hidden }) =>
      hidden.map(({ at, name, kind }) => ({ at, what: `It has the ${kind} character ${name}.` })),
    ),
  }),
  warning('prose/mixed-scripts', {
    sentence: 'A word or name that mixes scripts, so that it looks like another one.',
    remedy: 'Find out which name is meant, and have the author write it in one script.',
    look: eachText(PROSE, ({ kind, text }) => {
      const at = kind === 'name' && isMixedName(text) ? 0 : findMixedWord(text);
      return ifFound(at, 'A word mixes letters of several scripts that look alike.');
    }),
  }),
  warning('prose/unread', {
    sentence: 'More text than the audit examines.',
    remedy: 'Have the author remove what the skill does not need.',
    look: ({ texts }) =>
      atFirst(
        texts.filter(({ kind }) => kind === 'unread'),
        (unread) => `It has more text than the audit examines: ${unread} beginning with this one.`,
      ),
  }),
  warning('prose/other-script', {
    sentence: 'Text in a script that is not searched for phrases.',
    remedy: 'Have it read by someone who knows the language.',
    look: ({ texts }) =>
      atFirst(
        texts.filter(({ kind, text }) => PROSE.includes(kind) && isOfOtherScript(text)),
        (found, has) =>
          `${found} beginning with this one ${has} words in a script that is searched only for hidden characters and links.`,
      ),
  }),
  phraseCheck('overrides-instructions', 'Text that tells a model to ignore its instructions.'),
  phraseCheck('hides-from-user', 'Text that tells a model to hide something from its user.'),
  phraseCheck('speaks-as-system', 'Text that imitates a system prompt or the markup of a conversation.'),
  phraseCheck('pushes-itself', 'Text that urges a model to call this tool before or instead of others.'),
  phraseCheck('shadows-tools', 'Text about other tools: not to use them, or to use this one instead.'),
  phraseCheck('leaks-context', 'Text that asks for the conversation or for files with credentials.'),
  phraseCheck('fetch-and-run', 'Instructions to download a program and run it.', DO_NOT_TYPE),
  phraseCheck('locked-archive', 'A password-protected archive, which scanners cannot inspect.', DO_NOT_TYPE),
  phraseCheck(
    'lowers-guard',
    'Text that asks to disable a protection or to continue without approval.',
    DO_NOT_TYPE,
  ),
  phraseCheck('hidden-text', 'Styling that hides text from a reader but not from a model.'),
  warning('prose/urgency', {
    sentence: 'Repeated words that put the reader under pressure.',
    remedy: 'Take your time; pressure is a warning sign.',
    look: eachText(['listed', 'skill', 'page'], ({ phrases }) => {
      const places = phrases.flatMap(({ phrase, at }) => (phrase.kind === 'urgency' ? [at] : []));
      const first = places.findIndex(
        (at, i) => (places[i + URGENT_HITS - 1] ?? Number.POSITIVE_INFINITY) - at < URGENT_CHARS,
      );
      const what = `It puts the reader under pressure: ${count(places.length, 'word')} such as "urgent" or "immediately".`;
      return ifFound(places[first] ?? -1, what, 'folded');
    }),
  }),
  warning('prose/spelled-out', {
    sentence: 'Words that are spelled out letter by letter, so that searches miss them.',
    remedy: READ_IT,
    look: eachText(PROSE, ({ folded }) =>
      ifFound(folded.search(SPELLED_OUT), 'It spells words out letter by letter.', 'folded'),
    ),
  }),
  warning('prose/asks-for-tools', {
    sentence:
      'Front matter that asks agents to allow other tools, such as a shell, while the skill is in use.',
    remedy: 'Remove the line wherever an agent reads SKILL.md; the skill does not need it.',
    look: eachText(['skill'], ({ text }) => {
      const at = text.search(ALLOWED_TOOLS);
      const isInFront = at <= text.indexOf('\n---');
      return ifFound(
        isInFront ? at : -1,
        'Its front matter asks agents to allow tools that are not part of this skill.',
      );
    }),
  }),
  warning('prose/hidden-comment', {
    sentence: 'A comment with sentences in it, which a reader does not see.',
    remedy: READ_IT,
    look: eachText(PROSE, ({ text }) =>
      ifFound(findComment(text), 'It has a comment that is not displayed but that a model reads.'),
    ),
  }),
  warning('prose/doubtful-link', {
    sentence:
      'A link to a bare IP address, to a public hosting site, or to another destination than its text says.',
    remedy: 'Do not follow it; have the author link to the real site.',
    look: eachText(PROSE, ({ folded }) =>
      findDoubtfulLinks(folded).map(({ at, what }) => ({ at, of: 'folded', what: `A link ${what}.` })),
    ),
  }),
  warning('prose/active-link', {
    sentence: 'A link that is itself a program or document (`data:`, `javascript:`).',
    remedy: DO_NOT_TYPE,
    look: eachText(PROSE, ({ folded }) =>
      ifFound(findActiveLink(folded), 'It has a link that contains its own content.', 'folded'),
    ),
  }),
  warning('prose/encoded-run', {
    sentence: 'A long base64 or hexadecimal string in a text.',
    remedy: 'Decode it and inspect it; have the author move the data into a module or remove it.',
    look: eachText([...PROSE, 'file'], ({ text }) => {
      const { at, chars } = findEncoded(Buffer.from(text)) ?? { at: -1, chars: 0 };
      return ifFound(at, `It has ${chars} or more characters that are base64 or hexadecimal.`);
    }),
  }),
];

/** A place in a text, or in its folded form. */
type Passage = { readonly at: number; readonly of?: 'folded'; readonly what: string };

function eachText(
  kinds: readonly Material['kind'][],
  look: (material: Material) => readonly Passage[],
): AuditCheck['look'] {
  return function* ({ texts }) {
    for (const material of texts) {
      if (!kinds.includes(material.kind)) continue;
      for (const { at, of = 'text', what } of look(material)) {
        const line = material.hasLines ? `:${lineAt(material[of], at)}` : '';
        yield { where: `${material.where}${line}`, what };
      }
    }
  };
}

function ifFound(at: number, what: string, of?: 'folded'): readonly Passage[] {
  if (at < 0) return [];
  return [of === undefined ? { at, what } : { at, of, what }];
}

/** One finding for all of these, at the first. */
function atFirst(
  found: readonly Material[],
  say: (count: string, has: string) => string,
): readonly Sighting[] {
  const [first] = found;
  if (first === undefined) return [];
  const what = say(count(found.length, 'text'), found.length === 1 ? 'has' : 'have');
  return [{ where: first.where, what }];
}

function hiddenCheck(kind: HiddenKind, sentence: string): AuditCheck {
  return {
    id: `prose/${kind}`,
    severity: 'refusal',
    sentence,
    remedy: 'Do not use it; have the author write the text in visible characters.',
    look: eachText(PROSE, ({ hidden }) =>
      hidden
        .filter((each) => each.kind === kind)
        .map(({ at, name }) => ({ at, what: `It has the character ${name}, which a reader does not see.` })),
    ),
  };
}

function phraseCheck(kind: PhraseKind, sentence: string, remedy = READ_IT): AuditCheck {
  return {
    id: `prose/${kind}`,
    severity: 'warning',
    sentence,
    remedy,
    look: eachText(PROSE, ({ kind: place, phrases, folded }) => {
      const isListed = place === 'name' || place === 'listed';
      const hits = phrases.filter(
        ({ phrase }) => phrase.kind === kind && (isListed || phrase.listedOnly !== true),
      );
      const at = hits[0]?.at ?? -1;
      const more = hits.length > 1 ? `, and ${count(hits.length - 1, 'more place')}` : '';
      return ifFound(at, `It says "${excerpt(folded, at)}"${more}.`, 'folded');
    }),
  };
}

const EXCERPT_CHARS = 80;

function excerpt(text: string, at: number): string {
  const shown = text.slice(at, at + EXCERPT_CHARS).replace(/\s+/g, ' ');
  return at + EXCERPT_CHARS < text.length ? `${shown}…` : shown;
}
