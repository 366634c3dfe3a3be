import type { AuditCheck, AuditSubject, Sighting } from '../check.ts';
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

export const PROSE_CHECKS: readonly AuditCheck[] = [
  hiddenCheck(
    'bidirectional',
    'A bidirectional control character, which changes the order in which text is displayed.',
  ),
  hiddenCheck('invisible', 'An invisible character, which a model still reads.'),
  hiddenCheck('control', 'A control character in a text.'),
  {
    id: 'prose/hidden-in-file',
    severity: 'warning',
    sentence: 'Such a character in a file that only programs and authors read, such as source code.',
    look: (subject) =>
      eachText(subject, ['file'], (material) =>
        material.hidden.map(({ at, name, kind }) => ({
          at,
          what: `It has the ${kind} character ${name}.`,
          remedy:
            'View the file with a tool that shows such characters; the author can write them as escapes.',
        })),
      ),
  },
  {
    id: 'prose/mixed-scripts',
    severity: 'warning',
    sentence: 'A word or name that mixes scripts, so that it looks like another one.',
    look: (subject) =>
      eachText(subject, ['name', 'listed', 'skill', 'page'], ({ kind, text }) => {
        const at = kind === 'name' && isMixedName(text) ? 0 : findMixedWord(text);
        if (at < 0) return [];
        const what = 'A word mixes letters of several scripts that look alike.';
        return [
          { at, what, remedy: 'Find out which name is meant, and have the author write it in one script.' },
        ];
      }),
  },
  {
    id: 'prose/unread',
    severity: 'warning',
    sentence: 'More text than the audit examines.',
    look: ({ texts }) => {
      const unread = texts.filter(({ kind }) => kind === 'unread');
      const [first] = unread;
      if (first === undefined) return [];
      const what = `It has more text than the audit examines: ${count(unread.length, 'text')} beginning with this one.`;
      return [{ where: first.where, what, remedy: 'Have the author remove what the skill does not need.' }];
    },
  },
  {
    id: 'prose/other-script',
    severity: 'warning',
    sentence: 'Text in a script that is not searched for phrases.',
    look: ({ texts }) => {
      const found = texts.filter(
        ({ kind, text }) => kind !== 'file' && kind !== 'unread' && isOfOtherScript(text),
      );
      const [first] = found;
      if (first === undefined) return [];
      const what = `${count(found.length, 'text')} beginning with this one ${found.length === 1 ? 'has' : 'have'} words in a script that is searched only for hidden characters and links.`;
      return [{ where: first.where, what, remedy: 'Have it read by someone who knows the language.' }];
    },
  },
  phraseCheck('overrides-instructions', 'Text that tells a model to ignore its instructions.', READ_IT),
  phraseCheck('hides-from-user', 'Text that tells a model to hide something from its user.', READ_IT),
  phraseCheck(
    'speaks-as-system',
    'Text that imitates a system prompt or the markup of a conversation.',
    READ_IT,
  ),
  phraseCheck(
    'pushes-itself',
    'Text that urges a model to call this tool before or instead of others.',
    READ_IT,
  ),
  phraseCheck(
    'shadows-tools',
    'Text about other tools: not to use them, or to use this one instead.',
    READ_IT,
  ),
  phraseCheck('leaks-context', 'Text that asks for the conversation or for files with credentials.', READ_IT),
  phraseCheck('fetch-and-run', 'Instructions to download a program and run it.', DO_NOT_TYPE),
  phraseCheck('locked-archive', 'A password-protected archive, which scanners cannot inspect.', DO_NOT_TYPE),
  phraseCheck(
    'lowers-guard',
    'Text that asks to disable a protection or to continue without approval.',
    DO_NOT_TYPE,
  ),
  phraseCheck('hidden-text', 'Styling that hides text from a reader but not from a model.', READ_IT),
  {
    id: 'prose/urgency',
    severity: 'warning',
    sentence: 'Repeated words that put the reader under pressure.',
    look: (subject) =>
      eachText(subject, ['listed', 'skill', 'page'], ({ phrases }) => {
        const places = phrases.flatMap(({ phrase, at }) => (phrase.kind === 'urgency' ? [at] : []));
        const first = places.find(
          (at, i) => (places[i + URGENT_HITS - 1] ?? Number.POSITIVE_INFINITY) - at < URGENT_CHARS,
        );
        if (first === undefined) return [];
        const what = `It puts the reader under pressure: ${count(places.length, 'word')} such as "urgent" or "immediately".`;
        return [{ at: first, isFolded: true, what, remedy: 'Take your time; pressure is a warning sign.' }];
      }),
  },
  {
    id: 'prose/spelled-out',
    severity: 'warning',
    sentence: 'Words that are spelled out letter by letter, so that searches miss them.',
    look: (subject) =>
      eachText(subject, ['name', 'listed', 'skill', 'page'], ({ folded }) => {
        const at = folded.search(SPELLED_OUT);
        return at < 0
          ? []
          : [{ at, isFolded: true, what: 'It spells words out letter by letter.', remedy: READ_IT }];
      }),
  },
  {
    id: 'prose/asks-for-tools',
    severity: 'warning',
    sentence:
      'Front matter that asks agents to allow other tools, such as a shell, while the skill is in use.',
    look: (subject) =>
      eachText(subject, ['skill'], ({ text }) => {
        const at = text.search(ALLOWED_TOOLS);
        if (at < 0 || at > text.indexOf('\n---')) return [];
        const what = 'Its front matter asks agents to allow tools that are not part of this skill.';
        return [
          {
            at,
            what,
            remedy: 'Remove the line wherever an agent reads SKILL.md; the skill does not need it.',
          },
        ];
      }),
  },
  {
    id: 'prose/hidden-comment',
    severity: 'warning',
    sentence: 'A comment with sentences in it, which a reader does not see.',
    look: (subject) =>
      eachText(subject, ['name', 'listed', 'skill', 'page'], ({ text }) => {
        const at = findComment(text);
        return at < 0
          ? []
          : [{ at, what: 'It has a comment that is not displayed but that a model reads.', remedy: READ_IT }];
      }),
  },
  {
    id: 'prose/doubtful-link',
    severity: 'warning',
    sentence:
      'A link to a bare IP address, to a public hosting site, or to another destination than its text says.',
    look: (subject) =>
      eachText(subject, ['name', 'listed', 'skill', 'page'], ({ folded }) =>
        findDoubtfulLinks(folded).map(({ at, what }) => ({
          at,
          isFolded: true,
          what: `A link ${what}.`,
          remedy: 'Do not follow it; have the author link to the real site.',
        })),
      ),
  },
  {
    id: 'prose/active-link',
    severity: 'warning',
    sentence: 'A link that is itself a program or document (`data:`, `javascript:`).',
    look: (subject) =>
      eachText(subject, ['name', 'listed', 'skill', 'page'], ({ folded }) => {
        const at = findActiveLink(folded);
        return at < 0
          ? []
          : [
              {
                at,
                isFolded: true,
                what: 'It has a link that contains its own content.',
                remedy: DO_NOT_TYPE,
              },
            ];
      }),
  },
  {
    id: 'prose/encoded-run',
    severity: 'warning',
    sentence: 'A long base64 or hexadecimal string in a text.',
    look: (subject) =>
      eachText(subject, ['name', 'listed', 'skill', 'page', 'file'], ({ text }) => {
        const found = findEncoded(Buffer.from(text));
        if (found === null) return [];
        const what = `It has ${found.chars} or more characters that are base64 or hexadecimal.`;
        return [
          {
            at: found.at,
            what,
            remedy: 'Decode it and inspect it; have the author move the data into a module or remove it.',
          },
        ];
      }),
  },
];

type Seen = {
  readonly at: number;
  readonly isFolded?: boolean;
  readonly what: string;
  readonly remedy: string;
};

function* eachText(
  { texts }: AuditSubject,
  kinds: readonly Material['kind'][],
  look: (material: Material) => readonly Seen[],
): Iterable<Sighting> {
  for (const material of texts) {
    if (!kinds.includes(material.kind)) continue;
    for (const { at, isFolded, what, remedy } of look(material)) {
      const line = lineAt(isFolded === true ? material.folded : material.text, at);
      yield { where: material.hasLines ? `${material.where}:${line}` : material.where, what, remedy };
    }
  }
}

function hiddenCheck(kind: HiddenKind, sentence: string): AuditCheck {
  return {
    id: `prose/${kind}`,
    severity: 'refusal',
    sentence,
    look: (subject) =>
      eachText(subject, ['name', 'listed', 'skill', 'page'], ({ hidden }) =>
        hidden
          .filter((each) => each.kind === kind)
          .map(({ at, name }) => ({
            at,
            what: `It has the character ${name}, which a reader does not see.`,
            remedy: 'Do not use it; have the author write the text in visible characters.',
          })),
      ),
  };
}

function phraseCheck(kind: PhraseKind, sentence: string, remedy: string): AuditCheck {
  return {
    id: `prose/${kind}`,
    severity: 'warning',
    sentence,
    look: (subject) =>
      eachText(subject, ['name', 'listed', 'skill', 'page'], ({ kind: place, phrases, folded }) => {
        const isListed = place === 'name' || place === 'listed';
        const hits = phrases.filter(
          ({ phrase }) => phrase.kind === kind && (isListed || phrase.listedOnly !== true),
        );
        const [first] = hits;
        if (first === undefined) return [];
        const more = hits.length > 1 ? `, and ${count(hits.length - 1, 'more place')}` : '';
        return [
          { at: first.at, isFolded: true, what: `It says "${excerpt(folded, first.at)}"${more}.`, remedy },
        ];
      }),
  };
}

const EXCERPT_CHARS = 80;

function excerpt(text: string, at: number): string {
  const shown = text.slice(at, at + EXCERPT_CHARS).replace(/\s+/g, ' ');
  return at + EXCERPT_CHARS < text.length ? `${shown}…` : shown;
}
