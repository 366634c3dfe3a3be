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

const READ_IT = 'Read the place as the model would, and accept it only if it is harmless.';
const DO_NOT_TYPE = 'Do not type or let an agent run what it says; a skill needs nothing but its package.';
/** So many words that press, so close together, are no accident. */
const URGENT_HITS = 3;
const URGENT_CHARS = 400;
/** Letters one by one, as nobody writes who wants to be found. */
const SPELLED_OUT = /(?:^|[^a-z0-9])(?:[a-z][ .*_-]{1,3}){11}[a-z](?![a-z0-9])/;

/** The key of the Agent Skills form by which clients let tools run without a question. */
const ALLOWED_TOOLS = /^allowed-tools:/m;

export const PROSE_CHECKS: readonly AuditCheck[] = [
  hiddenCheck(
    'bidirectional',
    'A character that turns the direction of text, so that it reads otherwise than it is.',
  ),
  hiddenCheck('invisible', 'A character that shows nothing and that a model reads.'),
  hiddenCheck('control', 'A control character in a text.'),
  {
    id: 'prose/hidden-in-file',
    severity: 'warning',
    sentence: 'Such a character in a file that only programs and authors read, such as a source.',
    look: (subject) =>
      eachText(subject, ['file'], (material) =>
        material.hidden.map(({ at, name, kind }) => ({
          at,
          what: `It has the ${kind} character ${name}.`,
          remedy:
            'Look at the file with a tool that shows such characters; an author can spell them as escapes.',
        })),
      ),
  },
  {
    id: 'prose/mixed-scripts',
    severity: 'warning',
    sentence: 'A word or a name that mixes the letters of scripts, so that it reads as another one.',
    look: (subject) =>
      eachText(subject, ['name', 'listed', 'skill', 'page'], ({ kind, text }) => {
        const at = kind === 'name' && isMixedName(text) ? 0 : findMixedWord(text);
        if (at < 0) return [];
        const what = 'A word of it has letters of several scripts that look alike.';
        return [
          { at, what, remedy: 'Find out which name is meant; have the author write it in one script.' },
        ];
      }),
  },
  {
    id: 'prose/unread',
    severity: 'warning',
    sentence: 'More text than is looked at, and than anybody reads.',
    look: ({ texts }) => {
      const unread = texts.filter(({ kind }) => kind === 'unread');
      const [first] = unread;
      if (first === undefined) return [];
      const what = `It has more text than is looked at: ${count(unread.length, 'text')} beginning with this one.`;
      return [{ where: first.where, what, remedy: 'Have the author leave out what a skill does not need.' }];
    },
  },
  {
    id: 'prose/other-script',
    severity: 'warning',
    sentence: 'Words in a script in which no phrases are looked for.',
    look: ({ texts }) => {
      const found = texts.filter(
        ({ kind, text }) => kind !== 'file' && kind !== 'unread' && isOfOtherScript(text),
      );
      const [first] = found;
      if (first === undefined) return [];
      const what = `${count(found.length, 'text')} beginning with this one ${found.length === 1 ? 'has' : 'have'} words of a script in which only hidden characters and links are looked for.`;
      return [{ where: first.where, what, remedy: 'Have somebody read it who knows the language.' }];
    },
  },
  phraseCheck('overrides-instructions', 'Words that tell a model to drop its instructions.', READ_IT),
  phraseCheck('hides-from-user', 'Words that tell a model to keep something from its user.', READ_IT),
  phraseCheck(
    'speaks-as-system',
    'Words that speak as a system prompt or as the frame of a conversation.',
    READ_IT,
  ),
  phraseCheck(
    'pushes-itself',
    'Words that make a model call the tool before or instead of everything else.',
    READ_IT,
  ),
  phraseCheck(
    'shadows-tools',
    'Words about other tools: not to use them, or to use this one in their place.',
    READ_IT,
  ),
  phraseCheck(
    'leaks-context',
    'Words that ask for the conversation, or for files with credentials.',
    READ_IT,
  ),
  phraseCheck('fetch-and-run', 'A recipe that loads a program from somewhere and runs it.', DO_NOT_TYPE),
  phraseCheck('locked-archive', 'An archive with a password, which no scanner can look into.', DO_NOT_TYPE),
  phraseCheck(
    'lowers-guard',
    'Words that ask to switch off a protection, or to go on without approval.',
    DO_NOT_TYPE,
  ),
  phraseCheck('hidden-text', 'Styles that hide text from a reader and not from a model.', READ_IT),
  {
    id: 'prose/urgency',
    severity: 'warning',
    sentence: 'Words that press the reader, again and again.',
    look: (subject) =>
      eachText(subject, ['listed', 'skill', 'page'], ({ phrases }) => {
        const places = phrases.flatMap(({ phrase, at }) => (phrase.kind === 'urgency' ? [at] : []));
        const first = places.find(
          (at, i) => (places[i + URGENT_HITS - 1] ?? Number.POSITIVE_INFINITY) - at < URGENT_CHARS,
        );
        if (first === undefined) return [];
        const what = `It presses the reader: ${count(places.length, 'word')} such as "urgent" or "immediately".`;
        return [{ at: first, isFolded: true, what, remedy: 'Take your time; who presses has a reason.' }];
      }),
  },
  {
    id: 'prose/spelled-out',
    severity: 'warning',
    sentence: 'Words that are written letter by letter, so that no search finds them.',
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
    sentence: 'Front matter that has an agent allow other tools, such as a shell, while the skill is used.',
    look: (subject) =>
      eachText(subject, ['skill'], ({ text }) => {
        const at = text.search(ALLOWED_TOOLS);
        if (at < 0 || at > text.indexOf('\n---')) return [];
        const what = 'Its front matter asks an agent to allow tools that are none of this skill.';
        return [
          {
            at,
            what,
            remedy: 'Take the line out wherever an agent reads SKILL.md; the skill does not need it.',
          },
        ];
      }),
  },
  {
    id: 'prose/hidden-comment',
    severity: 'warning',
    sentence: 'A comment with sentences in it, which a reader of the page does not see.',
    look: (subject) =>
      eachText(subject, ['name', 'listed', 'skill', 'page'], ({ text }) => {
        const at = findComment(text);
        return at < 0
          ? []
          : [{ at, what: 'It has a comment that is not shown and that a model reads.', remedy: READ_IT }];
      }),
  },
  {
    id: 'prose/doubtful-link',
    severity: 'warning',
    sentence: 'A link to a bare address, to a site where anybody puts things up, or elsewhere than it seems.',
    look: (subject) =>
      eachText(subject, ['name', 'listed', 'skill', 'page'], ({ folded }) =>
        findDoubtfulLinks(folded).map(({ at, what }) => ({
          at,
          isFolded: true,
          what: `A link ${what}.`,
          remedy: 'Do not follow it; have the author name the site where the thing really is.',
        })),
      ),
  },
  {
    id: 'prose/active-link',
    severity: 'warning',
    sentence: 'A link that is itself a program or a document (`data:`, `javascript:`).',
    look: (subject) =>
      eachText(subject, ['name', 'listed', 'skill', 'page'], ({ folded }) => {
        const at = findActiveLink(folded);
        return at < 0
          ? []
          : [
              {
                at,
                isFolded: true,
                what: 'It has a link that carries its own contents.',
                remedy: DO_NOT_TYPE,
              },
            ];
      }),
  },
  {
    id: 'prose/encoded-run',
    severity: 'warning',
    sentence: 'A long run of base64 or hexadecimal in a text.',
    look: (subject) =>
      eachText(subject, ['name', 'listed', 'skill', 'page', 'file'], ({ text }) => {
        const found = findEncoded(Buffer.from(text));
        if (found === null) return [];
        const what = `It has ${found.chars} or more characters that are base64 or hexadecimal.`;
        return [
          {
            at: found.at,
            what,
            remedy: 'Decode it and look; have the author put data into a module or leave it out.',
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
            remedy: 'Do not use it; have the author write the text in characters that show.',
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
