import { sentenceOf } from '../../../core/result.ts';
import { CASES_FOLDER, PACKAGE_FILES } from '../../package/skill-package.ts';
import { parseCases } from '../cases.ts';
import type { AuditCheck, AuditSubject, Sighting } from '../check.ts';
import { isScript, markOf } from '../files.table.ts';
import { count } from '../module/words.ts';
import { isText } from '../prose/material.ts';

const TAKE_OUT = 'Have the author take it out of the package; nothing of a skill needs it.';

export const PACKAGE_CHECKS: readonly AuditCheck[] = [
  {
    id: 'trust/unsigned',
    severity: 'refusal',
    sentence: 'A package that nobody signed.',
    look: ({ bench: { trust } }) =>
      trust.ok || trust.code !== 'skill/unsigned'
        ? []
        : [{ where: 'the package', what: asSentence(trust.why), remedy: 'Have the publisher sign it.' }],
  },
  {
    id: 'trust/untrusted',
    severity: 'refusal',
    sentence: 'A signature by a key that may not speak for the publisher, or no longer.',
    look: ({ bench: { trust } }) =>
      trust.ok || trust.code !== 'skill/untrusted'
        ? []
        : [
            {
              where: PACKAGE_FILES.key,
              what: asSentence(trust.why),
              remedy:
                'Add the key with `palisade trust add` once you know from the publisher that it is the right one.',
            },
          ],
  },
  {
    id: 'trust/first-use',
    severity: 'note',
    sentence: 'A key that is trusted because it was the first of its publisher.',
    look: ({ bench: { trust } }) =>
      trust.ok && trust.how === 'first-use'
        ? [
            {
              where: PACKAGE_FILES.key,
              what: 'Nobody said that the key is the one of the publisher; it was the first that came.',
              remedy: 'Compare the key with what the publisher says elsewhere.',
            },
          ]
        : [],
  },
  {
    id: 'package/stray-module',
    severity: 'refusal',
    sentence: 'A module that no tool of the manifest names.',
    look: (subject) =>
      eachFile(subject, (path) =>
        path.endsWith('.wasm') && subject.pkg.manifest.tools.every(({ module }) => module !== path)
          ? { what: 'No tool names it: it is code that nobody is asked to approve.', remedy: TAKE_OUT }
          : null,
      ),
  },
  {
    id: 'package/program',
    severity: 'refusal',
    sentence: 'A program of an operating system or of another machine than ours.',
    look: (subject) => eachMarked(subject, 'program'),
  },
  {
    id: 'package/archive',
    severity: 'refusal',
    sentence: 'An archive inside the package, whose contents nobody would look at.',
    look: (subject) => eachMarked(subject, 'archive'),
  },
  {
    id: 'package/script',
    severity: 'warning',
    sentence: 'A script, by its first line or its name.',
    look: (subject) =>
      eachFile(subject, (path, bytes) =>
        isScript(path, bytes)
          ? {
              what: 'A system runs such a file when somebody opens it; no call of the skill does.',
              remedy: TAKE_OUT,
            }
          : null,
      ),
  },
  {
    id: 'package/unknown-file',
    severity: 'warning',
    sentence: 'A file that is neither text nor a module nor anything else that is known here.',
    look: (subject) =>
      eachBinary(subject, (bytes) =>
        markOf(bytes) === null
          ? {
              what: `It has ${bytes.length} bytes that are no text and begin like nothing known.`,
              remedy: TAKE_OUT,
            }
          : null,
      ),
  },
  {
    id: 'package/picture',
    severity: 'note',
    sentence: 'A picture; what is behind its end or between its pixels was not looked at.',
    look: (subject) => eachMarked(subject, 'picture'),
  },
  {
    id: 'package/cases',
    severity: 'refusal',
    sentence: 'Test cases that cannot be read.',
    look: ({ pkg: { entries, manifest } }) => {
      const cases = parseCases(entries, manifest);
      if (cases.ok) return [];
      const { file, position } = cases.problem;
      return [
        {
          where: position === undefined ? file : `${file}:${position.line}`,
          what: `${sentenceOf(cases.problem)}.`,
          remedy: 'Have the author run `palisade skill test`.',
        },
      ];
    },
  },
  {
    id: 'package/no-cases',
    severity: 'note',
    sentence: 'A package without test cases, or with none that an audit can run.',
    look: ({ pkg: { entries, manifest } }) => {
      const read = parseCases(entries, manifest);
      if (!read.ok || read.value.some(({ needs }) => needs.length === 0)) return [];
      const is =
        read.value.length === 0
          ? 'It has no test cases'
          : `Every one of its ${count(read.value.length, 'test case')} needs a capability, and an audit gives none`;
      const what = `${is}, so nothing shows that it does what it says.`;
      return [{ where: CASES_FOLDER, what, remedy: 'Try its tools before you rely on them.' }];
    },
  },
];

type Seen = Omit<Sighting, 'where'>;

function* eachFile(
  { pkg: { entries } }: AuditSubject,
  look: (path: string, bytes: Uint8Array) => Seen | null,
): Iterable<Sighting> {
  for (const [path, bytes] of entries) {
    const seen = look(path, bytes);
    if (seen !== null) yield { where: path, ...seen };
  }
}

function eachBinary(subject: AuditSubject, look: (bytes: Uint8Array) => Seen | null): Iterable<Sighting> {
  return eachFile(subject, (path, bytes) => (path.endsWith('.wasm') || isText(bytes) ? null : look(bytes)));
}

function eachMarked(subject: AuditSubject, kind: 'program' | 'archive' | 'picture'): Iterable<Sighting> {
  return eachBinary(subject, (bytes) => {
    const mark = markOf(bytes);
    return mark?.kind === kind ? { what: `It begins like ${mark.name}.`, remedy: TAKE_OUT } : null;
  });
}

function asSentence(why: string): string {
  return `${why.slice(0, 1).toUpperCase()}${why.slice(1)}${why.endsWith('.') ? '' : '.'}`;
}
