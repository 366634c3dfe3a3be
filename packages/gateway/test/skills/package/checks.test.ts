import { describe, expect, it } from 'vitest';
import { readArchive, writeArchive } from '../../../src/skills/package/archive.ts';
import { bomComponents, checkBom } from '../../../src/skills/package/bom.ts';
import { openPackage } from '../../../src/skills/package/open-package.ts';
import { checkProvenance } from '../../../src/skills/package/provenance.ts';
import type { SkillPackage } from '../../../src/skills/package/skill-package.ts';
import { moduleBy, unsignedSample } from './sample.ts';

type Changes = Readonly<Record<string, string | Uint8Array>>;

/** The packed sample with files in the place of others; what was made by packing stays as it was. */
function openWith(changes: Changes): SkillPackage {
  const entries = new Map(readArchive(unsignedSample()));
  for (const [path, contents] of Object.entries(changes)) entries.set(path, Buffer.from(contents));
  return openPackage(writeArchive(entries));
}

function textOf(path: string): string {
  return Buffer.from(readArchive(unsignedSample()).get(path) ?? []).toString();
}

const replaced = (path: string, from: string | RegExp, to: string): Changes => {
  const text = textOf(path).replace(from, to);
  expect(text).not.toBe(textOf(path));
  return { [path]: text };
};

const BOM = 'sbom.cdx.json';
const PROVENANCE = 'provenance.json';
const DIGEST = /[0-9a-f]{64}/;
const ZEROS = '0'.repeat(64);

describe('checkBom()', () => {
  it('finds nothing in what packing made', () => {
    expect(checkBom(openWith({}))).toEqual([]);
  });

  it.each<[string, () => Changes, string]>([
    ['another module', () => ({ 'text.wasm': moduleBy('other', '1') }), 'Its digest of "text.wasm" is'],
    ['one more module', () => ({ 'more.wasm': moduleBy('asc', '1') }), 'It does not name "more.wasm".'],
    [
      'a digest that lies',
      () => replaced(BOM, DIGEST, ZEROS),
      `Its digest of "text.wasm" is "${ZEROS}", expected`,
    ],
    [
      'a file that is not there',
      () => replaced(BOM, /"name": "text\.wasm"/, '"name": "gone.wasm"'),
      'which the package lacks',
    ],
    [
      'another id',
      () => replaced(BOM, /"name": "acme\.text"/, '"name": "acme.other"'),
      'Its name of the skill is "acme.other"',
    ],
    [
      'another version',
      () => replaced(BOM, /"version": "1\.2\.0"/, '"version": "1.2.1"'),
      'Its version of the skill is "1.2.1"',
    ],
    [
      'a component of skill.toml left out',
      () => replaced(BOM, /"name": "tiny-words"/, '"name": "x"'),
      'It does not name "tiny-words" 3.1.0',
    ],
    [
      'a locked package left out',
      () => replaced(BOM, /"purl": "pkg:npm\/tiny[^"]*"/, '"purl": "pkg:npm/x@1"'),
      'It does not name "pkg:npm/tiny@1.0.0%2Bbuild"',
    ],
    [
      'a lock file that cannot be read',
      () => ({ 'package-lock.json': '[]' }),
      'The lock file cannot be compared with it: package-lock.json:1:1: Cannot use the file: it is a list',
    ],
    ['no JSON', () => ({ [BOM]: '{' }), 'sbom.cdx.json:1:2: Cannot use JSON'],
    [
      'another format',
      () => ({ [BOM]: '{"spdxVersion":"SPDX-2.3"}' }),
      'it has no bomFormat, expected the key bomFormat (for example "bomFormat": "CycloneDX")',
    ],
    ['an empty bill', () => ({ [BOM]: '{"bomFormat":"CycloneDX"}' }), 'It does not name "text.wasm".'],
    [
      'parts of other kinds',
      () => ({ [BOM]: '{"bomFormat":"CycloneDX","components":[1,null,{"type":"file"}]}' }),
      'Cannot use components[0]: it is the number 1, expected a table',
    ],
  ])('finds %s', (_, changes, problem) => {
    expect(checkBom(openWith(changes())).join('\n')).toContain(problem);
  });

  it('tells no more than fifty problems', () => {
    const components = Array.from({ length: 500 }, (_, index) => ({ type: 'file', name: `f${index}` }));
    const bom = JSON.stringify({ bomFormat: 'CycloneDX', components });
    expect(checkBom(openWith({ [BOM]: bom }))).toHaveLength(50);
  });
});

describe('bomComponents()', () => {
  it('gives what has a name and a version', () => {
    expect(bomComponents(openWith({})).map(({ name, version, purl }) => [name, version, purl])).toEqual([
      ['tiny-words', '3.1.0', null],
      ['@acme/trim', '2.0.1', 'pkg:npm/%40acme/trim@2.0.1'],
      ['tiny', '1.0.0+build', 'pkg:npm/tiny@1.0.0%2Bbuild'],
      ['asc', '0.28.9', null],
    ]);
  });

  it('gives nothing where the bill cannot be read', () => {
    expect(bomComponents(openWith({ [BOM]: '{' }))).toEqual([]);
  });
});

describe('checkProvenance()', () => {
  it('finds nothing in what packing made', () => {
    expect(checkProvenance(openWith({}))).toEqual([]);
  });

  it.each<[string, () => Changes, string]>([
    ['another module', () => ({ 'text.wasm': moduleBy('other', '1') }), 'Its digest of "text.wasm" is'],
    ['another source', () => ({ 'src/text.ts': '// changed' }), 'Its digest of "src/text.ts" is'],
    ['one more source', () => ({ 'src/hidden.ts': '' }), 'It does not name "src/hidden.ts".'],
    ['one more module', () => ({ 'more.wasm': moduleBy('asc', '1') }), 'It does not name "more.wasm".'],
    ['a digest that lies', () => replaced(PROVENANCE, DIGEST, ZEROS), `is "${ZEROS}", expected`],
    [
      'a module that is not there',
      () => replaced(PROVENANCE, /"name": "text\.wasm"/, '"name": "gone.wasm"'),
      '"gone.wasm", which the package lacks',
    ],
    [
      'another language',
      () => replaced(PROVENANCE, '"assemblyscript"', '"c"'),
      'Its language is "c", expected "assemblyscript"',
    ],
    ['another skill', () => replaced(PROVENANCE, '"acme.text"', '"acme.other"'), 'Its skill is "acme.other"'],
    [
      'another kind',
      () => replaced(PROVENANCE, 'provenance/v1', 'provenance/v0.2'),
      'expected one of "https://slsa.dev/provenance/v1"',
    ],
    ['no JSON', () => ({ [PROVENANCE]: '' }), 'provenance.json:1:1: Cannot use JSON'],
    [
      'parts of other kinds',
      () => ({
        [PROVENANCE]: '{"predicateType":"https://slsa.dev/provenance/v1","subject":[[]],"predicate":7}',
      }),
      'Cannot use subject[0]: it is a list, expected a table',
    ],
  ])('finds %s', (_, changes, problem) => {
    expect(checkProvenance(openWith(changes())).join('\n')).toContain(problem);
  });
});
