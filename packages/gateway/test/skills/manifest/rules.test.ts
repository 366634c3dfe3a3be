import { describe, expect, it } from 'vitest';
import { CodedError } from '../../../src/core/coded-error.ts';
import { parseManifest, requireManifest } from '../../../src/skills/manifest/parse-manifest.ts';
import { FILES, problemsOf, read } from './rendered.ts';

const HEAD = `skill_id = "acme.text"
name = "Text tools"
version = "1.2.0"
publisher = "acme"
description = "Counts and cuts text."
`;

function tool(id: string, more = ''): string {
  return `[[entrypoints.tools]]
id = "${id}"
name = "Count words"
description = "Counts the words of a text."
risk = "low"
module = "text.wasm"
export = "words"
input_schema = "schemas/words.input.json"
output_schema = {}
${more}
`;
}

const SMALL = HEAD + tool('words');

/** The smallest manifest with more at its end, and what is said about it, without the place. */
function said(more: string): readonly string[] {
  return problemsOf(SMALL + more).map(({ what, hint }) => (hint === null ? what : `${what} (${hint})`));
}

function asksOf(more: string) {
  const result = parseManifest(SMALL + more, read);
  return result.ok ? result.value.asks : result.problem;
}

describe('parseManifest() fills in', () => {
  it('nothing asked for and the cautious annotations where the file is silent', () => {
    expect(parseManifest(SMALL, read)).toEqual({
      ok: true,
      value: {
        id: 'acme.text',
        name: 'Text tools',
        version: '1.2.0',
        publisher: 'acme',
        description: 'Counts and cuts text.',
        license: null,
        homepage: null,
        tools: [
          {
            id: 'words',
            name: 'Count words',
            description: 'Counts the words of a text.',
            risk: 'low',
            module: 'text.wasm',
            export: 'words',
            inputSchema: JSON.parse(FILES['schemas/words.input.json'] ?? ''),
            outputSchema: {},
            annotations: { readOnly: false, destructive: true, idempotent: false, openWorld: true },
          },
        ],
        asks: {
          ...{ http: [], secrets: [], storage: { read: [], write: [] }, channels: [] },
          ...{ log: false, clock: false, random: false, config: null, allowWildcards: false },
        },
        quotas: { wallMs: null, fuel: null, memoryBytes: null },
        trust: { reviewers: 1, reauditDays: null },
        compat: { abi: 1, palisadeMin: null },
        components: [],
        build: null,
      },
    });
  });

  it('each name of a list of secrets as a secret of its own, in order', () => {
    const secrets = '[[capabilities.secrets]]\nscope = "tenant"\nkeys = ["b", "a"]\nuse = "reveal"\n';
    const secret = { scope: 'tenant', mayReveal: true, hosts: [] };
    expect(asksOf(secrets)).toMatchObject({
      secrets: [
        { ...secret, name: 'b' },
        { ...secret, name: 'a' },
      ],
    });
  });

  it('the root of the storage in one spelling', () => {
    const roots =
      '[capabilities]\nallow_wildcards = true\nfilesystem = { read_roots = [""], write_roots = ["/"] }\n';
    expect(asksOf(roots)).toMatchObject({ storage: { read: ['/'], write: ['/'] } });
  });

  it('a configuration without keys where the list is empty', () => {
    expect(asksOf('[capabilities]\nconfig = []\n')).toMatchObject({ config: [] });
  });
});

describe('parseManifest() refuses', () => {
  it('a skill_id that is not below its publisher', () => {
    const [problem] = problemsOf(SMALL.replace('publisher = "acme"', 'publisher = "other"'));
    expect(problem).toMatchObject({ line: 1, column: 12, path: 'skill_id' });
    expect(problem?.what).toBe(
      'Cannot use skill_id: it is "acme.text", expected it to begin with "other.", the publisher',
    );
  });

  it('two tools of one id, at the second', () => {
    expect(problemsOf(SMALL + tool('words'))).toMatchObject([
      { line: 17, column: 6, path: 'entrypoints.tools[1].id' },
    ]);
  });

  it('more than 64 tools, at the first that is too many', () => {
    const tools = (count: number) => HEAD + Array.from({ length: count }, (_, i) => tool(`t${i}`)).join('');
    expect(problemsOf(tools(64))).toEqual([]);
    const [problem, ...more] = problemsOf(tools(65));
    expect(problem).toMatchObject({ line: 6 + 64 * 10, column: 3, path: 'entrypoints.tools[64]' });
    expect(more).toEqual([]);
  });

  it('a manifest without a tool', () => {
    expect(problemsOf(HEAD)).toMatchObject([
      { path: 'entrypoints.tools', hint: 'for example [[entrypoints.tools]]' },
    ]);
    expect(problemsOf(`${HEAD}entrypoints.tools = []\n`)).toMatchObject([{ line: 6, column: 21 }]);
  });

  it.each([
    ['a wildcard', '"*.example.com"', '"*.example.com" means more than one host'],
    ['a range', '"10.1.2.0/24:443"', '"10.1.2.0/24:443" means more than one host'],
    ['a range of IPv6', '"[fd12::]/16"', '"[fd12::]/16" means more than one host'],
  ])('%s of hosts that is not said to be meant', (_, entry, is) => {
    const list = `http_egress_allowlist = [${entry}]\n`;
    const [first] = said(`[capabilities]\n${list}`);
    expect(first).toBe(
      `Cannot use capabilities.http_egress_allowlist[0]: ${is}, expected each host by its name (allow_wildcards = true under [capabilities] says that it is meant)`,
    );
    expect(said(`[capabilities]\nallow_wildcards = true\n${list}`)).toEqual([]);
  });

  it('every host, whatever is said to be meant', () => {
    const list = 'allow_wildcards = true\nhttp_egress_allowlist = ["*", "0.0.0.0/0", "*.com"]';
    expect(said(`[capabilities]\n${list}`)).toHaveLength(3);
  });

  it('two entries that mean the same in two spellings', () => {
    const list = '["GET,HEAD https://a.test/v1/", "HEAD,GET HTTPS://A.test:443/v1/", "a.test", "a.test."]';
    const problems = problemsOf(`${SMALL}[capabilities]\nhttp_egress_allowlist = ${list}`);
    expect(problems.map(({ path }) => path)).toEqual([
      'capabilities.http_egress_allowlist[1]',
      'capabilities.http_egress_allowlist[3]',
    ]);
  });

  it.each([
    ['"/"', true],
    ['""', true],
    ['"notes"', false],
    ['"notes/"', false],
  ])('the root %s of the storage as the whole of it: %s', (root, isWhole) => {
    expect(said(`[capabilities.filesystem]\nread_roots = [${root}]`)).toHaveLength(isWhole ? 1 : 0);
    expect(said(`[capabilities.filesystem]\nwrite_roots = [${root}]`)).toHaveLength(isWhole ? 1 : 0);
  });

  it('one root in two spellings', () => {
    expect(said('[capabilities.filesystem]\nread_roots = ["a", "a/"]')).toEqual([
      'Cannot use capabilities.filesystem.read_roots[1]: "a/" means the same as one before it, expected each once',
    ]);
  });

  it('a channel that is neither written nor read, and two of one name', () => {
    expect(said('[[capabilities.channels]]\nname = "news"')).toHaveLength(1);
    const twice = '[[capabilities.channels]]\nname = "news"\npublish = true\n'.repeat(2);
    expect(said(twice)).toEqual([
      'Cannot use capabilities.channels[1].name: "news" is used twice, expected each name once',
    ]);
  });

  it('two builds of one module', () => {
    const module = '{ source = "a.c", module = "a.wasm" }';
    expect(said(`[build]\nlanguage = "c"\nmodules = [${module}, ${module}]`)).toHaveLength(1);
    expect(said('[build]\n')).toHaveLength(2);
  });
});

describe('parseManifest() on secrets', () => {
  const secret = (hosts: string, more = '') =>
    `[[capabilities.secrets]]\nscope = "skill"\nkeys = ["token"]\nuse = "send"\nhosts = ${hosts}\n${more}`;

  it.each([
    ['the host itself', '["api.test"]', '["api.test"]', true],
    ['its port alone', '["api.test:443"]', '["api.test"]', true],
    ['an entry for a path', '["GET https://api.test/v1/"]', '["api.test"]', true],
    ['another case', '["API.test:443"]', '["api.TEST"]', true],
    ['a wildcard above it', '["*.test.example"]', '["api.test.example"]', true],
    ['a wildcard above a wildcard', '["*.test.example"]', '["*.api.test.example"]', true],
    ['the same wildcard', '["*.test.example"]', '["*.test.example"]', true],
    ['a range around it', '["10.0.0.0/8:443"]', '["10.1.2.3"]', true],
    ['no entry', '[]', '["api.test"]', false],
    ['another host', '["api.test"]', '["other.test"]', false],
    ['a host that only ends alike', '["api.test"]', '["xapi.test"]', false],
    ['a name below a name', '["api.test"]', '["a.api.test"]', false],
    ['a name above a wildcard', '["*.api.test"]', '["api.test"]', false],
    ['a wildcard above a name', '["a.api.test"]', '["*.api.test"]', false],
    ['port 80 where it goes to 443', '["http://api.test"]', '["api.test"]', false],
    ['another port', '["api.test:8443"]', '["api.test"]', false],
    ['a port that is named', '["api.test:8443"]', '["api.test:8443"]', true],
    ['an address outside the range', '["10.0.0.0/8:443"]', '["11.1.2.3"]', false],
    ['a name for an address', '["*.test.example"]', '["10.1.2.3"]', false],
  ])('lets %s cover a host that gets one: %s %s %s', (_, list, hosts, isCovered) => {
    const capabilities = `[capabilities]\nallow_wildcards = true\nhttp_egress_allowlist = ${list}\n`;
    expect(said(capabilities + secret(hosts))).toHaveLength(isCovered ? 0 : 1);
  });

  it.each([
    ['["http://api.test"]', '["api.test:80"]', false],
    ['["http://api.test:8080"]', '["api.test:8080"]', false],
    ['["GET http://api.test:8080/v1/"]', '["api.test:8080"]', false],
    ['["api.test"]', '["api.test:80"]', false],
    ['["https://api.test"]', '["api.test"]', true],
    ['["api.test:8080"]', '["api.test:8080"]', true],
    ['["http://api.test:8080", "https://api.test:8080"]', '["api.test:8080"]', true],
  ])('lets the entries %s carry a secret to %s: %s', (entries, hosts, mayCarry) => {
    const problems = said(`[capabilities]\nhttp_egress_allowlist = ${entries}\n${secret(hosts)}`);
    expect(problems).toHaveLength(mayCarry ? 0 : 1);
    if (!mayCarry) expect(problems[0]).toMatch(/secrets\[0\]\.hosts\[0\]: .*without encryption.*https$/);
  });

  it('does not hold an entry that cannot be read against the hosts', () => {
    const problems = said(`[capabilities]\nhttp_egress_allowlist = ["api,test"]\n${secret('["api.test"]')}`);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain('http_egress_allowlist[0]');
  });

  it('wants a host for what is sent, and none for what is read', () => {
    expect(said(secret('[]'))).toEqual([
      'Cannot use capabilities.secrets[0].hosts: it names no host, expected hosts such as ["api.example.com"] for use = "send"',
    ]);
    expect(said('[[capabilities.secrets]]\nscope = "skill"\nkeys = ["a"]\nuse = "reveal"')).toEqual([]);
  });

  it('takes each name once in the whole manifest, and 64 at most', () => {
    const reveal = (keys: string) =>
      `[[capabilities.secrets]]\nscope = "skill"\nkeys = [${keys}]\nuse = "reveal"\n`;
    expect(said(reveal('"a"') + reveal('"b", "a"'))).toEqual([
      'Cannot use capabilities.secrets[1].keys[1]: "a" is asked for twice, expected each secret once',
    ]);
    const many = (letter: string, count: number) =>
      reveal(Array.from({ length: count }, (_, i) => `"${letter}${i}"`).join(', '));
    expect(said(many('a', 40) + many('b', 24))).toEqual([]);
    expect(said(many('a', 40) + many('b', 25))).toHaveLength(1);
  });

  it('never takes "*" for a name', () => {
    expect(said('[[capabilities.secrets]]\nscope = "skill"\nkeys = ["*"]\nuse = "reveal"')).toEqual([
      'Cannot use capabilities.secrets[0].keys[0]: it would mean every one, expected each by its name',
    ]);
  });
});

describe('parseManifest() says', () => {
  it.each([
    ['name = "Text tools"', 'name = Text tools', 'skill.toml:2:8', '(put text in double quotes)'],
    ['name = "Text tools"', 'name: "Text tools"', 'skill.toml:2:5', 'joined by "="'],
    ['name = "Text tools"', 'name = "Text tools', 'skill.toml:2:19', 'close the text with a quote'],
    ['name = "Text tools"', 'name = "A"\nname = "B"', 'skill.toml:3:1', 'a key may be used once'],
    ['version = "1.2.0"', 'version = "v1.2"', 'skill.toml:3:11', '(did you mean "1.2.0"?)'],
    ['version = "1.2.0"', 'version = 1.2', 'skill.toml:3:11', '(put text in double quotes)'],
    ['"acme.text"', '"Acme.Text"', 'skill.toml:1:12', '(did you mean "acme.text"?)'],
    ['skill_id', 'id', 'skill.toml:1:1', '(did you mean "skill_id"?)'],
    [
      '[[entrypoints.tools]]',
      '[entrypoints.tools]',
      'skill.toml:6:14',
      'two brackets: [[entrypoints.tools]]',
    ],
    ['[[entrypoints.tools]]', '[[tools]]', 'skill.toml:1:1', 'it has no tools'],
    [
      '[[entrypoints.tools]]',
      '[[entrypoints.tools]]\ninput = {}',
      'skill.toml:7:1',
      '(did you mean "input_schema"?)',
    ],
    ['risk = "low"', 'risk = "hihg"', 'skill.toml:10:8', '(did you mean "high"?)'],
    ['input_schema', 'inputSchema', 'skill.toml:6:3', 'it has no input_schema'],
    ['name = "Text tools"', 'name = "T\\u202eools"', 'skill.toml:2:8', 'U+202E, which turns the direction'],
    ['name = "Text tools"', 'name = "T\\u200bools"', 'skill.toml:2:8', 'U+200B, which is invisible'],
    [
      'name = "Text tools"',
      'name = "T\\u001bools"',
      'skill.toml:2:8',
      'U+001B, which is a control character',
    ],
    [
      '"schemas/words.input.json"',
      '"schemas/broken.json"',
      'skill.toml:13:16',
      'is not valid JSON at line 2, column 11',
    ],
    [
      '"schemas/words.input.json"',
      '"schemas/text.json"',
      'skill.toml:13:16',
      'expected type = "object" there',
    ],
  ])('for %s → %s where it is and what was meant', (from, to, where, hint) => {
    const error = catchError(SMALL.replace(from, to));
    expect(error.code).toBe('skill/invalid-manifest');
    expect(error.message).toContain(`${where}: Cannot `);
    expect(error.message).toContain(hint);
  });

  it('several problems at once, in the order of the lines', () => {
    const text = `${SMALL.replace('1.2.0', '1.2').replace('"low"', '"none"')}[trsut]\n[compat]\nabi = 2\n`;
    expect(problemsOf(text).map(({ line, column, path }) => [line, column, path])).toEqual([
      [3, 11, 'version'],
      [10, 8, 'entrypoints.tools[0].risk'],
      [16, 2, 'trsut'],
      [18, 7, 'compat.abi'],
    ]);
    expect(catchError(text).message).toMatch(/^skill\.toml:3:11: Cannot use version: .+; and 3 more$/);
  });

  it('at most 50 of them', () => {
    expect(problemsOf(Array.from({ length: 1_000 }, (_, i) => `k${i} = 1`).join('\n'))).toHaveLength(50);
  });

  it('the file by the name that it has', () => {
    expect(() => requireManifest('x', read, 'other.toml')).toThrow(/^other\.toml:1:1: /);
  });
});

function catchError(text: string): CodedError {
  try {
    requireManifest(text, read);
  } catch (error) {
    if (error instanceof CodedError) return error;
    throw error;
  }
  throw new Error('the manifest was taken');
}
