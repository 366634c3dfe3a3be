import type { Advisory } from '../../../src/skills/advisories.ts';
import { CASES, HONEST, TOOL } from './sample.ts';
import type { Difference, Trial } from './trial.ts';

const file = (name: string, content: Uint8Array | string): Difference => ({ files: { [name]: content } });
const bytes = (text: string) => new Uint8Array(Buffer.from(text, 'latin1'));

const ADVISORY: Advisory = {
  id: 'GHSA-aaaa-bbbb-cccc',
  aliases: ['CVE-2026-0001'],
  isWithdrawn: false,
  severity: 'HIGH',
  affected: [
    {
      ecosystem: 'npm',
      name: 'left-pad',
      purl: null,
      versions: [],
      ranges: [
        {
          events: [
            { kind: 'fixed', version: '1.3.0' },
            { kind: 'introduced', version: '0' },
          ],
        },
      ],
      isEveryVersion: false,
    },
  ],
};

const made = (version: string, purl: string | null): Difference => ({
  change: { components: [{ name: 'left-pad', version, purl, license: null }] },
  bench: { advisories: [ADVISORY] },
});

export const PACKAGE_TRIALS: readonly Trial[] = [
  {
    id: 'trust/unsigned',
    what: 'no signature',
    bad: { bench: { trust: { ok: false, code: 'skill/unsigned', why: 'it has no signature' } } },
    good: {},
    says: /^It has no signature\.$/,
  },
  {
    id: 'trust/untrusted',
    what: 'a key of somebody else',
    bad: {
      bench: {
        trust: { ok: false, code: 'skill/untrusted', why: 'Cannot trust the key "k": it was revoked' },
      },
    },
    good: {},
    says: /revoked/,
  },
  {
    id: 'trust/first-use',
    what: 'a key that came first',
    bad: { bench: { trust: { ok: true, how: 'first-use' } } },
    good: {},
  },
  {
    id: 'package/stray-module',
    what: 'a module without a tool',
    bad: file('more.wasm', HONEST),
    good: {},
    where: 'more.wasm',
  },
  {
    id: 'package/program',
    what: 'an ELF program',
    bad: file('bin/tool', bytes('\x7fELF\x02\x01\x01\0')),
    good: file('bin/tool', 'text\n'),
  },
  {
    id: 'package/program',
    what: 'a program for Windows',
    bad: file('a.dat', bytes('MZ\x90\0\x03\0')),
    good: file('a.dat', 'MZ is how it begins.\n'),
  },
  {
    id: 'package/program',
    what: 'a program for macOS',
    bad: file('a', bytes('\xcf\xfa\xed\xfe\x07\0\0\x01')),
    good: {},
  },
  {
    id: 'package/archive',
    what: 'a ZIP archive',
    bad: file('a.md', bytes('PK\x03\x04\x14\0\0\0')),
    good: file('a.md', '# PK\n'),
  },
  {
    id: 'package/archive',
    what: 'a file of gzip',
    bad: file('a.json', bytes('\x1f\x8b\x08\0\0')),
    good: file('a.json', '{}'),
  },
  {
    id: 'package/script',
    what: 'a first line of a script',
    bad: file('setup', '#!/bin/sh\necho\n'),
    good: file('setup', '# Setup\n'),
  },
  {
    id: 'package/script',
    what: 'a name of a script',
    bad: file('setup.ps1', 'x\n'),
    good: file('setup.ts', 'export {};\n'),
  },
  {
    id: 'package/unknown-file',
    what: 'bytes of no kind',
    bad: file('blob', bytes('\x01\x02\0\xff')),
    good: file('blob', 'ä\n'),
  },
  { id: 'package/picture', what: 'a picture', bad: file('a.png', bytes('\x89PNG\r\n\x1a\n\0')), good: {} },
  {
    id: 'package/cases',
    what: 'cases of another tool',
    bad: file('tests/a.json', '{"cases":[{"name":"a","tool":"b","input":1,"output":1}]}'),
    good: {},
    where: 'tests/a.json:1',
  },
  { id: 'package/no-cases', what: 'no cases', bad: { files: { 'tests/words.json': null } }, good: {} },
  { id: 'package/no-cases', what: 'a list of none', bad: file('tests/words.json', '{"cases":[]}'), good: {} },
  {
    id: 'package/no-cases',
    what: 'a folder with something else',
    bad: { files: { 'tests/words.json': null, 'tests/more/words.json': '{"cases":[]}' } },
    good: {},
  },
  {
    id: 'package/no-cases',
    what: 'cases that an audit cannot run',
    bad: file('tests/words.json', CASES.replace('"input"', '"needs":["log"],"input"')),
    good: file('tests/more.json', CASES.replace('"input"', '"needs":["log"],"input"')),
    says: /It has 1 test case, but each needs a capability/,
  },
  {
    id: 'bom/differs',
    what: 'a bill of other bytes',
    bad: file('sbom.cdx.json', '{"bomFormat":"CycloneDX"}'),
    good: {},
    where: 'sbom.cdx.json',
  },
  {
    id: 'bom/provenance-differs',
    what: 'a provenance of other bytes',
    bad: file('provenance.json', '{}'),
    good: {},
    where: 'provenance.json',
  },
  {
    id: 'bom/vulnerable',
    what: 'a component with a known fault',
    bad: made('1.2.0', 'pkg:npm/left-pad@1.2.0'),
    good: made('1.3.0', 'pkg:npm/left-pad@1.3.0'),
    says: /left-pad 1\.2\.0 is affected by GHSA-aaaa-bbbb-cccc \(CVE-2026-0001\), severity HIGH/,
  },
  {
    id: 'bom/perhaps-vulnerable',
    what: 'a component of that name',
    bad: made('1.2.0', null),
    good: made('1.2.0', 'pkg:cargo/left-pad@1.2.0'),
  },
  {
    id: 'manifest/incompatible',
    what: 'a newer palisade',
    bad: { change: { compat: { abi: 1, palisadeMin: '0.10.0' } }, bench: { palisade: '0.9.0' } },
    good: { change: { compat: { abi: 1, palisadeMin: '0.9.0' } }, bench: { palisade: '0.10.0' } },
  },
  ...hosts('manifest/wildcard-host', ['*.example.com:443', '10.1.2.0/24:443'], ['api.example.com:443']),
  ...hosts(
    'manifest/inside-host',
    ['127.0.0.1:80', '169.254.169.254', 'db.internal:443', '[::1]:443'],
    ['internal.example.com:443'],
  ),
  ...hosts('manifest/bare-address', ['8.8.8.8:443', '[2606:4700::1111]:443'], ['dns.example.com:443']),
  ...hosts(
    'manifest/clear-text',
    ['api.example.com', 'http://api.example.com/'],
    ['api.example.com:443', 'https://api.example.com/'],
  ),
  {
    id: 'manifest/many-hosts',
    what: 'a long allow-list',
    bad: { change: { asks: { http: Array.from({ length: 17 }, (_, at) => `h${at}.example.com:443`) } } },
    good: { change: { asks: { http: ['a.example.com:443'] } } },
  },
  {
    id: 'manifest/unused-opt-in',
    what: 'an opt-in without use',
    bad: { change: { asks: { allowWildcards: true } } },
    good: {},
  },
  {
    id: 'manifest/whole-storage',
    what: 'the root of the storage',
    bad: { change: { asks: { storage: { read: ['notes/'], write: ['/'] } } } },
    good: { change: { asks: { storage: { read: ['notes/'], write: ['notes/'] } } } },
    says: /write every key/,
  },
  {
    id: 'manifest/many-secrets',
    what: 'nine secrets',
    bad: secrets(Array.from({ length: 9 }, (_, at) => ({ name: `key${at}` }))),
    good: secrets([{ name: 'key' }]),
  },
  {
    id: 'manifest/reveal',
    what: 'a secret to be read',
    bad: secrets([{ mayReveal: true }]),
    good: secrets([{}]),
    says: /read the secret "key"/,
  },
  {
    id: 'manifest/wide-secret',
    what: 'a secret for any host below',
    bad: secrets([{ hosts: ['*.example.com'] }]),
    good: secrets([{}]),
  },
  {
    id: 'manifest/shared-secret',
    what: 'a secret of everybody',
    bad: secrets([{ scope: 'global' }]),
    good: secrets([{ scope: 'tenant' }]),
  },
  {
    id: 'manifest/empty-description',
    what: 'a description that is the name',
    bad: { change: { description: 'Text-tools!' } },
    good: {},
  },
  {
    id: 'manifest/empty-description',
    what: 'a description of two words',
    bad: { change: { tool: { description: 'Does it.' } } },
    good: {},
  },
  {
    id: 'manifest/same-words',
    what: 'two tools that say the same',
    bad: { change: { tools: [TOOL, { ...TOOL, id: 'other', name: 'Other' }] } },
    good: {
      change: { tools: [TOOL, { ...TOOL, id: 'other', name: 'Other', description: 'Does another thing.' }] },
    },
  },
  {
    id: 'manifest/large-quota',
    what: 'more than calls get by default',
    bad: { change: { quotas: { wallMs: 30_001, fuel: null, memoryBytes: null } } },
    good: { change: { quotas: { wallMs: 30_000, fuel: 10_000_000, memoryBytes: 64 * 1024 * 1024 } } },
  },
];

function hosts(id: string, bad: readonly string[], good: readonly string[]): readonly Trial[] {
  return bad.map((entry) => ({
    id,
    what: entry,
    bad: { change: { asks: { http: [entry] } } },
    good: { change: { asks: { http: good } } },
    where: 'skill.toml capabilities.http_egress_allowlist',
  }));
}

type Secret = {
  readonly name?: string;
  readonly mayReveal?: boolean;
  readonly scope?: 'global' | 'tenant';
  readonly hosts?: readonly string[];
};

function secrets(asked: readonly Secret[]): Difference {
  const whole = asked.map((each) => ({
    ...{ name: 'key', scope: 'skill' as const, mayReveal: false, hosts: ['api.example.com'] },
    ...each,
  }));
  return { change: { asks: { secrets: whole } } };
}
