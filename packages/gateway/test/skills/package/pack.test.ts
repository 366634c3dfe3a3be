import { describe, expect, it } from 'vitest';
import { digestBytes } from '../../../src/core/digest.ts';
import { readArchive } from '../../../src/skills/package/archive.ts';
import { openPackage } from '../../../src/skills/package/open-package.ts';
import { packSkill, signPackage } from '../../../src/skills/package/pack.ts';
import { keyFrom, moduleBy, PALISADE, sampleFiles, signedSample, unsignedSample } from './sample.ts';

const FACTS = { palisade: PALISADE };

function jsonIn(bytes: Uint8Array, path: string): unknown {
  return JSON.parse(Buffer.from(readArchive(bytes).get(path) ?? []).toString());
}

describe('packSkill()', () => {
  it('makes the same bytes of the same files in any order', () => {
    const reversed = new Map([...sampleFiles()].reverse());
    expect(packSkill(reversed, FACTS)).toEqual(unsignedSample());
  });

  it('keeps every file as it is and adds a bill of materials and a provenance', () => {
    const pkg = openPackage(unsignedSample());
    const { 'sbom.cdx.json': bom, 'provenance.json': provenance, ...files } = Object.fromEntries(pkg.entries);
    expect(files).toEqual(Object.fromEntries(sampleFiles()));
    expect([bom?.length, provenance?.length].every((length) => (length ?? 0) > 100)).toBe(true);
    expect(pkg.artifact).toBe(digestBytes(unsignedSample()));
    expect(pkg.signer).toBeNull();
  });

  it('makes anew what an earlier packing and signing made', () => {
    const earlier = readArchive(
      signPackage(packSkill(sampleFiles({ 'src/text.ts': '' }), FACTS), keyFrom(1)),
    );
    expect(packSkill(new Map([...earlier, ...sampleFiles()]), FACTS)).toEqual(unsignedSample());
  });

  it('says nothing about the machine, the folder or the time', () => {
    const text = ['sbom.cdx.json', 'provenance.json'].map((path) =>
      JSON.stringify(jsonIn(signedSample(), path)),
    );
    expect(text.join()).not.toMatch(/timestamp|startedOn|finishedOn|\/home|\/tmp|20\d\d-\d\d/);
  });

  it.each<[string, Record<string, string | Uint8Array>, string]>([
    [
      'a module that is text',
      { 'text.wasm': '(module)' },
      'entry "text.wasm": it is not a binary WebAssembly module',
    ],
    ['a lock file that is no JSON', { 'package-lock.json': '{' }, 'package-lock.json:1:2: Cannot use JSON'],
    [
      'a lock file of an old form',
      { 'package-lock.json': '{"dependencies":{}}' },
      'expected lockfileVersion 2',
    ],
    [
      'a lock file with a bad name',
      lockWith('node_modules/a b', { version: '1.0.0' }),
      '"node_modules/a b" has no name',
    ],
    [
      'a lock file without a version',
      lockWith('node_modules/a', {}),
      '"node_modules/a" has no name and version',
    ],
  ])('refuses %s', (_, changes, why) => {
    expect(() => packSkill(sampleFiles(changes), FACTS)).toThrow(
      expect.objectContaining({ code: 'skill/invalid-package', message: expect.stringContaining(why) }),
    );
  });

  it('says where SKILL.md is wrong', () => {
    expect(() => packSkill(sampleFiles({ 'SKILL.md': 'No front matter.\n' }), FACTS)).toThrow(
      expect.objectContaining({
        code: 'skill/invalid-package',
        message: expect.stringMatching(/^SKILL\.md:\d+: Cannot /),
      }),
    );
  });

  it('says where skill.toml is wrong', () => {
    expect(() => packSkill(sampleFiles({ 'skill.toml': 'skill_id = 1\n' }), FACTS)).toThrow(
      expect.objectContaining({
        code: 'skill/invalid-manifest',
        message: expect.stringMatching(/^skill\.toml:1:\d+: /),
      }),
    );
  });
});

describe('the bill of materials', () => {
  const bom = jsonIn(unsignedSample(), 'sbom.cdx.json');

  it('is CycloneDX 1.6 about the skill', () => {
    const purl = 'pkg:generic/acme/acme.text@1.2.0';
    expect(bom).toMatchObject({
      bomFormat: 'CycloneDX',
      specVersion: '1.6',
      version: 1,
      serialNumber: expect.stringMatching(
        /^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
      ),
      metadata: {
        tools: { components: [{ type: 'application', name: 'palisade', version: PALISADE }] },
        component: { type: 'application', name: 'acme.text', version: '1.2.0', purl, publisher: 'acme' },
      },
    });
  });

  it('names modules, components, locked packages and tools, each by one reference', () => {
    const digest = digestBytes(moduleBy('asc', '0.28.9'));
    const { components, dependencies } = bom as {
      components: { 'bom-ref': string }[];
      dependencies: { dependsOn: string[] }[];
    };
    expect(components).toEqual([
      {
        type: 'file',
        'bom-ref': 'file:text.wasm',
        name: 'text.wasm',
        hashes: [{ alg: 'SHA-256', content: digest }],
      },
      {
        type: 'library',
        'bom-ref': 'component:tiny-words@3.1.0',
        name: 'tiny-words',
        version: '3.1.0',
        licenses: [{ license: { name: 'MIT' } }],
      },
      {
        type: 'library',
        'bom-ref': 'pkg:npm/%40acme/trim@2.0.1',
        name: '@acme/trim',
        version: '2.0.1',
        hashes: [{ alg: 'SHA-512', content: '07'.repeat(64) }],
        purl: 'pkg:npm/%40acme/trim@2.0.1',
      },
      {
        type: 'library',
        'bom-ref': 'pkg:npm/tiny@1.0.0%2Bbuild',
        name: 'tiny',
        version: '1.0.0+build',
        purl: 'pkg:npm/tiny@1.0.0%2Bbuild',
      },
      {
        type: 'application',
        'bom-ref': 'tool:asc@0.28.9',
        scope: 'excluded',
        name: 'asc',
        version: '0.28.9',
      },
    ]);
    expect(dependencies[0]?.dependsOn).toEqual(components.map((each) => each['bom-ref']));
  });

  it('has another serial number once a byte of a file is another', () => {
    const other = jsonIn(packSkill(sampleFiles({ 'src/text.ts': '' }), FACTS), 'sbom.cdx.json');
    expect((other as { serialNumber: string }).serialNumber).not.toBe(
      (bom as { serialNumber: string }).serialNumber,
    );
  });

  it('names no tool of a module that cannot be read', () => {
    const broken = Buffer.concat([moduleBy('asc', '1'), Buffer.from([0xff, 0xff])]);
    const { components } = jsonIn(
      packSkill(sampleFiles({ 'text.wasm': broken }), FACTS),
      'sbom.cdx.json',
    ) as {
      components: { name: string }[];
    };
    expect(components.map(({ name }) => name)).not.toContain('asc');
    expect(components.map(({ name }) => name)).toContain('text.wasm');
  });
});

describe('the provenance', () => {
  it('names the modules as made and the sources as what they were made of', () => {
    const digest = (path: string) => ({
      name: path,
      digest: { sha256: digestBytes(sampleFiles().get(path) ?? '') },
    });
    expect(jsonIn(unsignedSample(), 'provenance.json')).toEqual({
      _type: 'https://in-toto.io/Statement/v1',
      subject: [digest('text.wasm')],
      predicateType: 'https://slsa.dev/provenance/v1',
      predicate: {
        buildDefinition: {
          buildType: 'urn:palisade:skill-build:v1',
          externalParameters: {
            skill: { id: 'acme.text', version: '1.2.0' },
            language: 'assemblyscript',
            modules: [{ source: 'src/text.ts', module: 'text.wasm' }],
          },
          resolvedDependencies: [
            digest('package-lock.json'),
            digest('src/more/trim.ts'),
            digest('src/text.ts'),
          ],
        },
        runDetails: { builder: { id: 'urn:palisade:skill-pack', version: { palisade: PALISADE } } },
      },
    });
  });
});

function lockWith(place: string, entry: object): Record<string, string> {
  return { 'package-lock.json': JSON.stringify({ packages: { [place]: entry } }) };
}
