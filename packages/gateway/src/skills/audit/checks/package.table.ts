import { sentenceOf } from '../../../core/result.ts';
import { CASES_FOLDER, PACKAGE_FILES } from '../../package/skill-package.ts';
import { parseCases } from '../cases.ts';
import type { AuditCheck, AuditSubject, Sighting } from '../check.ts';
import { isScript, markOf } from '../files.table.ts';
import { count } from '../module/words.ts';
import { isText } from '../prose/material.ts';

const TAKE_OUT = 'Have the author remove it from the package; a skill does not need it.';

export const PACKAGE_CHECKS: readonly AuditCheck[] = [
  {
    id: 'trust/unsigned',
    severity: 'refusal',
    sentence: 'An unsigned package.',
    look: ({ bench: { trust } }) =>
      trust.ok || trust.code !== 'skill/unsigned'
        ? []
        : [{ where: 'the package', what: asSentence(trust.why), remedy: 'Have the publisher sign it.' }],
  },
  {
    id: 'trust/untrusted',
    severity: 'refusal',
    sentence: 'A signature by a key that is not, or no longer, trusted for the publisher.',
    look: ({ bench: { trust } }) =>
      trust.ok || trust.code !== 'skill/untrusted'
        ? []
        : [
            {
              where: PACKAGE_FILES.key,
              what: asSentence(trust.why),
              remedy: 'Confirm the key with the publisher, then add it with `palisade trust add`.',
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
              what: 'No one confirmed that this key belongs to the publisher; it is trusted because it was the first one seen.',
              remedy: 'Compare the key with the one that the publisher announces elsewhere.',
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
          ? { what: 'No tool names it: it is code that no one is asked to approve.', remedy: TAKE_OUT }
          : null,
      ),
  },
  {
    id: 'package/program',
    severity: 'refusal',
    sentence: 'A native program, or a program of another virtual machine.',
    look: (subject) => eachMarked(subject, 'program'),
  },
  {
    id: 'package/archive',
    severity: 'refusal',
    sentence: 'An archive inside the package, whose contents are not audited.',
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
              what: 'An operating system runs such a file when it is opened; no call of the skill does.',
              remedy: TAKE_OUT,
            }
          : null,
      ),
  },
  {
    id: 'package/unknown-file',
    severity: 'warning',
    sentence: 'A file that is neither text, nor a module, nor of another known type.',
    look: (subject) =>
      eachBinary(subject, (bytes) =>
        markOf(bytes) === null
          ? {
              what: `It has ${bytes.length} bytes of an unknown type that are not text.`,
              remedy: TAKE_OUT,
            }
          : null,
      ),
  },
  {
    id: 'package/picture',
    severity: 'note',
    sentence: 'An image; data appended to it or hidden in its pixels was not examined.',
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
    sentence: 'A package without test cases that an audit can run.',
    look: ({ pkg: { entries, manifest } }) => {
      const read = parseCases(entries, manifest);
      if (!read.ok || read.value.some(({ needs }) => needs.length === 0)) return [];
      const is =
        read.value.length === 0
          ? 'It has no test cases'
          : `It has ${count(read.value.length, 'test case')}, but each needs a capability and an audit grants none`;
      const what = `${is}, so nothing shows that it does what it says.`;
      return [{ where: CASES_FOLDER, what, remedy: 'Try its tools before relying on them.' }];
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
