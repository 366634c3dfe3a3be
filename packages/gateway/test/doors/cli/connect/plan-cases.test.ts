import { describe, expect, test } from 'vitest';
import { CodedError } from '../../../../src/core/coded-error.ts';
import { planConnect, planDisconnect, planWrap } from '../../../../src/doors/cli/connect/plan.ts';
import { placeFor, serversIn } from '../../../../src/doors/cli/connect/servers.ts';
import { AIM, HTTP, LEAD, STDIO, sourceOf } from './samples.ts';

function refusalOf(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    if (error instanceof CodedError) return error.message;
    throw error;
  }
  return 'nothing was refused';
}

const connected = (id: string, text: string) => planConnect(sourceOf(id, text), AIM, STDIO)?.text ?? '';

describe('planConnect()', () => {
  test.each([
    ['cursor', '{\n  "a": 1,\n  "b" 2\n}', '"the file:3:7": it is no JSON (colon expected)'],
    ['cursor', '{"mcpServers": {', '"the file:1:17": it is no JSON'],
    ['cursor', '['.repeat(100_000), '"the file": it is no JSON (it is nested too deeply)'],
    ['goose', 'a: 1\nb: ]\n', '"the file:2:4": it is no YAML'],
    ['goose', 'a: 1\n---\nb: 2\n', '"the file:2:1": it is no YAML (it has more than one document)'],
    ['goose', '['.repeat(20_000), 'it is no YAML'],
    ['codex', 'a = 1\n\n[b\n', '"the file:3:'],
    ['codex', 'a = 1\na = 2\n', '"the file:2:'],
  ])('refuses a file of %s that cannot be read, with the place', (id, text, why) => {
    expect(refusalOf(() => connected(id, text))).toContain(why);
  });

  test('refuses a file whose references multiply without end', () => {
    const lines = ['a0: &a0 [x, x, x, x, x, x, x, x, x, x]'];
    for (let i = 1; i < 9; i++)
      lines.push(
        `a${i}: &a${i} [${Array(10)
          .fill(`*a${i - 1}`)
          .join(', ')}]`,
      );
    expect(refusalOf(() => connected('goose', lines.join('\n')))).toContain('refers to itself too often');
  });

  test.each([
    ['cursor', '[]', 'the whole file is a list, expected an object'],
    ['cursor', '{"mcpServers": []}', 'mcpServers is a list, expected an object'],
    ['cursor', '{"mcpServers": "x"}', 'mcpServers is a string, expected an object'],
    ['amp', '{"amp.mcpServers": 1}', 'amp.mcpServers is a number, expected an object'],
    ['continue', 'mcpServers:\n  x: 1\n', 'mcpServers is an object, expected a list'],
    ['goose', 'extensions: [1]\n', 'extensions is a list, expected an object'],
    ['goose', '- 1\n', 'the whole file is a list'],
    ['codex', 'mcp_servers = 3\n', 'mcp_servers is a number, expected an object'],
    ['mistral-vibe', '[mcp_servers.x]\n', 'mcp_servers is an object, expected a list'],
  ])('refuses a file of %s where the servers have another type: %s', (id, text, why) => {
    expect(refusalOf(() => connected(id, text))).toContain(why);
  });

  test.each([
    ['cursor', '', '{\n  "mcpServers": {'],
    ['cursor', '  \n\n', '{\n  "mcpServers": {'],
    ['cursor', '{"a":1}', '{"a":1, "mcpServers": {"palisade": {"command": '],
    ['cursor', '{ "a": 1, }', '{ "a": 1, "mcpServers": {"palisade": {"command": '],
    [
      'cursor',
      '{\r\n\t"a": 1\r\n}\r\n',
      '{\r\n\t"a": 1,\r\n\t"mcpServers": {\r\n\t\t"palisade": {\r\n\t\t\t"command"',
    ],
    [
      'cursor',
      '{\n    "a": 1 // one\n}\n',
      '{\n    "a": 1, // one\n    "mcpServers": {\n        "palisade": {\n',
    ],
    ['cursor', '{\n  "mcpServers": null\n}\n', '{\n  "mcpServers": {\n    "palisade": {\n'],
    ['cursor', '{ /* nothing */ }', '{ /* nothing */ "mcpServers": {"palisade": '],
    ['cursor', '// top\n{\n  // in\n}\n', '// top\n{\n  // in\n  "mcpServers": {\n'],
    ['goose', '', 'extensions:\n  palisade:\n'],
    ['goose', '# only this\n', '# only this\nextensions:\n  palisade:\n'],
    ['goose', 'extensions:\nb: 2\n', 'extensions:\n  palisade:\n    name: palisade\n'],
    ['goose', 'extensions: {}\n', 'extensions: {"palisade":{"name":'],
    [
      'goose',
      'a: 1\r\nextensions:\r\n    x:\r\n        cmd: y\r\n',
      'cmd: y\r\n    palisade:\r\n      name: palisade\r\n',
    ],
    ['goose', 'a: 1', 'a: 1\nextensions:\n  palisade:\n'],
    ['continue', 'mcpServers: []\n', 'mcpServers: [{"name":"palisade","command":'],
    ['codex', '', '[mcp_servers.palisade]\n'],
    ['codex', 'a = 1', 'a = 1\n\n[mcp_servers.palisade]\ncommand'],
    ['codex', 'a = 1\r\n', 'a = 1\r\n\r\n[mcp_servers.palisade]\r\ncommand'],
    ['codex', 'mcp_servers = {}\n', 'mcp_servers = {palisade = { command = '],
    ['codex', 'mcp_servers = { x = { url = "y" } }\n', '{ x = { url = "y" }, palisade = { command = '],
    [
      'mistral-vibe',
      'mcp_servers = [] # none\n',
      'mcp_servers = [{ name = "palisade", transport = "stdio", ',
    ],
  ])('writes into a file of %s as it is laid out: %j', (id, text, expected) => {
    const after = connected(id, text);
    expect(after).toContain(expected);
    const source = sourceOf(id, after);
    expect(serversIn(source).map(({ name }) => name)).toContain('palisade');
    expect(planDisconnect(source, AIM, [text])?.text).toBe(text);
  });

  test('takes the last of two keys of one name, as readers do', () => {
    const text = '{"mcpServers": {"a": {}}, "mcpServers": {"b": {}}}';
    expect(serversIn(sourceOf('cursor', connected('cursor', text))).map(({ name }) => name)).toEqual([
      'b',
      'palisade',
    ]);
  });

  test('keeps what its owner has added to our entry when it is brought up to date', () => {
    const old = { ...STDIO, words: ['/old/node', '/old/palisade.js', 'mcp'] };
    const before = planConnect(sourceOf('cursor', ''), AIM, old)?.text ?? '';
    const edited = before.replace('"command"', '"disabled": true, // for now\n      "command"');
    const after = connected('cursor', edited);
    expect(after).toContain('"disabled": true, // for now\n');
    expect(after).toContain('"/usr/bin/node"');
    expect(after).not.toContain('/old/');
  });

  test('leaves a server of the same name alone that is not ours', () => {
    const theirs = '{"mcpServers": {"palisade": {"command": "npx", "args": ["fence-builder", "mcp"]}}}';
    expect(refusalOf(() => connected('cursor', theirs))).toContain(
      '"palisade" in "the file" is another server',
    );
    expect(planDisconnect(sourceOf('cursor', theirs), AIM, [])).toBeNull();
  });

  test('refuses what it cannot write without changing something else', () => {
    const shared = 'extensions:\n  a: &x\n    cmd: npx\n    args: [y]\n  b: *x\n';
    expect(refusalOf(() => planWrap(sourceOf('goose', shared), 'a', LEAD))).toContain(
      'more would change than the entry',
    );
    const merged = 'base: &b\n  x: 1\nextensions: *b\n';
    expect(refusalOf(() => connected('goose', merged))).toContain('Cannot edit "the file"');
  });

  test('takes a key like __proto__ for a key', () => {
    const text = '{\n  "__proto__": {"polluted": 1},\n  "mcpServers": {"__proto__": {}}\n}\n';
    const after = connected('cursor', text);
    expect(after).toContain('"__proto__": {"polluted": 1}');
    expect(planDisconnect(sourceOf('cursor', after), AIM, [text])?.text).toBe(text);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });
});

describe('planDisconnect()', () => {
  test('takes out exactly our lines where the file was changed since', () => {
    const text = '{\n  "mcpServers": {\n    "a": {} // mine\n  }\n}\n';
    const changed = connected('cursor', text).replace('"a": {}', '"a": {"x": [1]}');
    expect(planDisconnect(sourceOf('cursor', changed), AIM, [text])?.text).toBe(
      text.replace('"a": {}', '"a": {"x": [1]}'),
    );
  });

  test('takes the place for servers with it where the file had none before', () => {
    const text = '{\n  "a": 1\n}\n';
    const changed = connected('cursor', text).replace('1', '2');
    expect(planDisconnect(sourceOf('cursor', changed), AIM, [text])?.text).toBe('{\n  "a": 2\n}\n');
    expect(planDisconnect(sourceOf('cursor', changed), AIM, ['{"mcpServers": {}}'])?.text).toContain(
      '"mcpServers": {',
    );
  });

  test('leaves nothing of a file that held nothing else', () => {
    for (const id of ['cursor', 'goose', 'continue', 'codex', 'mistral-vibe'])
      expect(planDisconnect(sourceOf(id, connected(id, '')), AIM, [])?.text).toBeNull();
  });

  test('tells the token that the entry had', () => {
    const text = planConnect(sourceOf('zed', ''), AIM, HTTP)?.text ?? '';
    expect(planDisconnect(sourceOf('zed', text), AIM, [])?.token).toBe(HTTP.token);
  });

  test('knows an entry by its address, too', () => {
    const text = `{"mcpServers": {"palisade": {"url": "${AIM.url}"}, "b": {}}}`;
    expect(planDisconnect(sourceOf('kiro', text), AIM, [])?.text).toBe('{"mcpServers": {"b": {}}}');
  });
});

describe('planWrap()', () => {
  const file = '{"mcpServers": {"files": {"command": "npx"}, "web": {"url": "https://x"}}}';

  test('starts a server through the gateway, and planDisconnect() as before', () => {
    const text = planWrap(sourceOf('cursor', file), 'files', LEAD)?.text ?? '';
    const { value } = placeFor(sourceOf('cursor', text), 'files');
    expect(value).toMatchObject({
      command: LEAD.program[0],
      args: [LEAD.program[1], ...LEAD.flags, '--', 'npx'],
    });
    expect(planDisconnect(sourceOf('cursor', text), AIM, [file])?.text).toBe(file);
    // Changed since: the words are in the entry itself.
    const moved = text.replace('https://x', 'https://y');
    expect(planDisconnect(sourceOf('cursor', moved), AIM, [file])?.text).toBe(
      file.replace('https://x', 'https://y'),
    );
  });

  test.each([
    ['goose', 'extensions:\n  files:\n    cmd: npx # here\nb1: 1\n'],
    ['continue', 'mcpServers:\n- name: files\n  command: npx # here\n- name: b1\n'],
    ['codex', '[mcp_servers.files]\ncommand = "npx" # here\n\n[mcp_servers.files.env]\nA = "b1"\n'],
    ['mistral-vibe', '[[mcp_servers]]\nname = "files"\ncommand = "npx" # here\n[b1]\n'],
  ])('gives %s a server without arguments back as it was, also where the file was changed', (id, text) => {
    const wrapped = planWrap(sourceOf(id, text), 'files', LEAD)?.text ?? '';
    expect(wrapped).toContain(' # here');
    expect(planDisconnect(sourceOf(id, wrapped), AIM, [text])?.text).toBe(text);
    const undone = planDisconnect(sourceOf(id, wrapped.replace('b1', 'c1')), AIM, [text])?.text ?? '';
    expect(placeFor(sourceOf(id, undone), 'files').value).toEqual(
      placeFor(sourceOf(id, text.replace('b1', 'c1')), 'files').value,
    );
  });

  test('keeps what its owner tells a server that is wrapped, and brings the program up to date', () => {
    const old = { ...LEAD, program: ['/old/node', '/old/palisade.js'] };
    const text = planWrap(sourceOf('cursor', file), 'files', old)?.text ?? '';
    const told = text.replace('"--", "npx"', '"--risk", "low", "--", "npx"');
    const after = planWrap(sourceOf('cursor', told), 'files', LEAD)?.text ?? '';
    expect(after).toContain('"/opt/palisade/bin/palisade.js", "mcp", "wrap"');
    expect(after).toContain('"--risk", "low", "--", "npx"');
    expect(planDisconnect(sourceOf('cursor', after), AIM, [file])?.text).toBe(file);
  });

  test.each([
    ['a server that is not there', 'nowhere', 'it is not in "the file", expected one of: files, web'],
    ['one that is an address', 'web', 'it is not started by a command'],
  ])('refuses %s', (_, server, why) => {
    expect(refusalOf(() => planWrap(sourceOf('cursor', file), server, LEAD))).toContain(why);
  });

  test('refuses palisade itself', () => {
    const text = connected('cursor', file);
    expect(refusalOf(() => planWrap(sourceOf('cursor', text), 'palisade', LEAD))).toContain(
      'leads to palisade already',
    );
  });
});
