import { sentenceOf } from '../../../core/result.ts';
import { CASES_FOLDER, PACKAGE_FILES } from '../../package/skill-package.ts';
import { parseCases } from '../cases.ts';
import { type AuditCheck, type AuditSubject, each, note, refusal, warning } from '../check.ts';
import { isScript, markOf } from '../files.table.ts';
import { count } from '../module/words.ts';
import { isText } from '../prose/material.ts';

const TAKE_OUT = 'Have the author remove it from the package; a skill does not need it.';

const eachFile = each(filesOf);
const eachBinary = each((subject) =>
  filesOf(subject).filter(([path, { bytes }]) => !path.endsWith('.wasm') && !isText(bytes)),
);

export const PACKAGE_CHECKS: readonly AuditCheck[] = [
  refusal('trust/unsigned', {
    sentence: 'An unsigned package.',
    remedy: 'Have the publisher sign it.',
    look: lookForDistrust('skill/unsigned', 'the package'),
  }),
  refusal('trust/untrusted', {
    sentence: 'A signature by a key that is not, or no longer, trusted for the publisher.',
    remedy: 'Confirm the key with the publisher, then add it with `palisade trust add`.',
    look: lookForDistrust('skill/untrusted', PACKAGE_FILES.key),
  }),
  note('trust/first-use', {
    sentence: 'A key that is trusted because it was the first of its publisher.',
    remedy: 'Compare the key with the one that the publisher announces elsewhere.',
    look: ({ bench: { trust } }) => {
      const what =
        'No one confirmed that this key belongs to the publisher; it is trusted because it was the first one seen.';
      return trust.ok && trust.how === 'first-use' ? [{ where: PACKAGE_FILES.key, what }] : [];
    },
  }),
  refusal('package/stray-module', {
    sentence: 'A module that no tool of the manifest names.',
    remedy: TAKE_OUT,
    look: eachFile(({ path }, { pkg: { manifest } }) =>
      path.endsWith('.wasm') && manifest.tools.every(({ module }) => module !== path)
        ? 'No tool names it: it is code that no one is asked to approve.'
        : null,
    ),
  }),
  refusal('package/program', {
    sentence: 'A native program, or a program of another virtual machine.',
    remedy: TAKE_OUT,
    look: eachMarked('program'),
  }),
  refusal('package/archive', {
    sentence: 'An archive inside the package, whose contents are not audited.',
    remedy: TAKE_OUT,
    look: eachMarked('archive'),
  }),
  warning('package/script', {
    sentence: 'A script, by its first line or its name.',
    remedy: TAKE_OUT,
    look: eachFile(({ path, bytes }) =>
      isScript(path, bytes)
        ? 'An operating system runs such a file when it is opened; no call of the skill does.'
        : null,
    ),
  }),
  warning('package/unknown-file', {
    sentence: 'A file that is neither text, nor a module, nor of another known type.',
    remedy: TAKE_OUT,
    look: eachBinary(({ bytes }) =>
      markOf(bytes) === null ? `It has ${bytes.length} bytes of an unknown type that are not text.` : null,
    ),
  }),
  note('package/picture', {
    sentence: 'An image; data appended to it or hidden in its pixels was not examined.',
    remedy: TAKE_OUT,
    look: eachMarked('picture'),
  }),
  refusal('package/cases', {
    sentence: 'Test cases that cannot be read.',
    remedy: 'Have the author run `palisade skill test`.',
    look: ({ pkg: { entries, manifest } }) => {
      const cases = parseCases(entries, manifest);
      if (cases.ok) return [];
      const { file, position } = cases.problem;
      const where = position === undefined ? file : `${file}:${position.line}`;
      return [{ where, what: `${sentenceOf(cases.problem)}.` }];
    },
  }),
  note('package/no-cases', {
    sentence: 'A package without test cases that an audit can run.',
    remedy: 'Try its tools before relying on them.',
    look: ({ pkg: { entries, manifest } }) => {
      const read = parseCases(entries, manifest);
      if (!read.ok || read.value.some(({ needs }) => needs.length === 0)) return [];
      const is =
        read.value.length === 0
          ? 'It has no test cases'
          : `It has ${count(read.value.length, 'test case')}, but each needs a capability and an audit grants none`;
      return [{ where: CASES_FOLDER, what: `${is}, so nothing shows that it does what it says.` }];
    },
  }),
];

function filesOf({ pkg }: AuditSubject) {
  return [...pkg.entries].map(([path, bytes]) => [path, { path, bytes }] as const);
}

function eachMarked(kind: 'program' | 'archive' | 'picture'): AuditCheck['look'] {
  return eachBinary(({ bytes }) => {
    const mark = markOf(bytes);
    return mark?.kind === kind ? `It begins like ${mark.name}.` : null;
  });
}

function lookForDistrust(code: 'skill/unsigned' | 'skill/untrusted', where: string): AuditCheck['look'] {
  return ({ bench: { trust } }) => {
    if (trust.ok || trust.code !== code) return [];
    const { why } = trust;
    const what = `${why.slice(0, 1).toUpperCase()}${why.slice(1)}${why.endsWith('.') ? '' : '.'}`;
    return [{ where, what }];
  };
}
