import { describe, expect, test } from 'vitest';
import { CodedError } from '../../../../src/core/coded-error.ts';
import { planConnect, planDisconnect, planWrap } from '../../../../src/doors/cli/connect/plan.ts';
import { serverNamed, serversIn } from '../../../../src/doors/cli/connect/servers.ts';
import { clientOf, HTTP, OWN_ENTRY, STDIO, sourceOf, WRAPPER } from './samples.ts';

function refusalOf(act: () => unknown): CodedError {
  try {
    act();
  } catch (error) {
    if (error instanceof CodedError) return error;
    throw error;
  }
  throw new Error('nothing was refused');
}

const connected = (id: string, text: string) => planConnect(sourceOf(id, text), OWN_ENTRY, STDIO)?.text ?? '';

describe('planConnect()', () => {
  test.each([
    ['cursor', '{\n  "a": 1,\n  "b" 2\n}', '"the file:3:7": it is not valid JSON (colon expected)'],
    ['cursor', '{"mcpServers": {', '"the file:1:17": it is not valid JSON'],
    ['cursor', '['.repeat(100_000), '"the file": it is not valid JSON (it is nested too deeply)'],
    ['goose', 'a: 1\nb: ]\n', '"the file:2:4": it is not valid YAML'],
    ['goose', 'a: 1\n---\nb: 2\n', '"the file:2:1": it is not valid YAML (it has more than one document)'],
    ['goose', '['.repeat(20_000), 'it is not valid YAML'],
    ['codex', 'a = 1\n\n[b\n', '"the file:3:'],
    ['codex', 'a = 1\na = 2\n', '"the file:2:'],
  ])('refuses a file of %s that cannot be read, with the place', (id, text, why) => {
    expect(refusalOf(() => connected(id, text)).message).toContain(why);
  });

  test('refuses a file whose references multiply without end', () => {
    const lines = ['a0: &a0 [x, x, x, x, x, x, x, x, x, x]'];
    for (let i = 1; i < 9; i++)
      lines.push(
        `a${i}: &a${i} [${Array(10)
          .fill(`*a${i - 1}`)
          .join(', ')}]`,
      );
    expect(refusalOf(() => connected('goose', lines.join('\n'))).message).toContain(
      'its nesting or its aliases have no bound',
    );
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
    expect(refusalOf(() => connected(id, text)).message).toContain(why);
  });

  test.each([
    ['cursor', '', '{\n  "mcpServers": {'],
    ['cursor', '  \n\n', '{\n  "mcpServers": {'],
    ['cursor', '{"a":1}', '{"a":1,"mcpServers": {"palisade":{"command":'],
    ['cursor', '{ "a": 1, }', '{ "a": 1,"mcpServers": {"palisade":{"command":'],
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
    ['cursor', '{ /* nothing */ }', '{ /* nothing */\n  "mcpServers": {\n    "palisade": {\n'],
    ['cursor', '// top\n{\n  // in\n}\n', '// top\n{\n  // in\n  "mcpServers": {\n'],
    ['goose', '', 'extensions:\n  palisade:\n'],
    ['goose', '# only this\n', '# only this\nextensions:\n  palisade:\n'],
    ['goose', 'extensions:\nb: 2\n', 'extensions:\n  palisade:\n    name: palisade\n'],
    ['goose', 'extensions: {} # none\n', 'extensions: # none\n  palisade:\n    name: palisade\n'],
    ['goose', 'extensions:\n  {}\n', 'extensions:\n  palisade:\n    name: palisade\n'],
    ['goose', 'extensions: {a: {cmd: x}}\n', 'extensions: {"palisade":{"name":"palisade",'],
    ['goose', 'a: |+\n  text\n\n\n', 'a: |+\n  text\n\n\nextensions:\n  palisade:\n'],
    [
      'goose',
      'a: 1\r\nextensions:\r\n    x:\r\n        cmd: y\r\n',
      'extensions:\r\n    palisade:\r\n      name: palisade\r\n',
    ],
    ['goose', 'a: 1', 'a: 1\nextensions:\n  palisade:\n'],
    ['continue', 'mcpServers: []\n', 'mcpServers:\n  - name: palisade\n    command: '],
    ['codex', '', '[mcp_servers.palisade]\n'],
    ['codex', 'a = 1', 'a = 1\n\n[mcp_servers.palisade]\nrequired = true\ncommand'],
    ['codex', 'a = 1\r\n', 'a = 1\r\n\r\n[mcp_servers.palisade]\r\nrequired = true\r\ncommand'],
    ['codex', 'mcp_servers = {}\n', '[mcp_servers.palisade]\nrequired = true\ncommand = '],
    [
      'codex',
      '[mcp_servers]\nx = { url = "y" }\n',
      'y" }\n\n[mcp_servers.palisade]\nrequired = true\ncommand = ',
    ],
    ['mistral-vibe', 'mcp_servers = [] # none\n', ' # none\n\n[[mcp_servers]]\nname = "palisade"\n'],
  ])('writes into a file of %s as it is laid out: %j', (id, text, expected) => {
    const after = connected(id, text);
    expect(after).toContain(expected);
    const source = sourceOf(id, after);
    expect(serversIn(source).map(({ name }) => name)).toContain('palisade');
    expect(planDisconnect(source, OWN_ENTRY, [text])?.text).toBe(text);
  });

  test('keeps what its owner has added to our entry when it is brought up to date', () => {
    const old = { ...STDIO, argv: ['/old/node', '/old/palisade.js', 'mcp'] };
    const before = planConnect(sourceOf('cursor', ''), OWN_ENTRY, old)?.text ?? '';
    const edited = before.replace('"command"', '"disabled": true, // for now\n      "command"');
    const after = connected('cursor', edited);
    expect(after).toContain('"disabled": true, // for now\n');
    expect(after).toContain('"/usr/bin/node"');
    expect(after).not.toContain('/old/');
  });

  test('leaves a server of the same name alone that is not ours', () => {
    const theirs = '{"mcpServers": {"palisade": {"command": "npx", "args": ["fence-builder", "mcp"]}}}';
    expect(refusalOf(() => connected('cursor', theirs)).message).toContain(
      '"palisade" in "the file" is another server',
    );
    expect(planDisconnect(sourceOf('cursor', theirs), OWN_ENTRY, [])).toBeNull();
  });

  test.each([
    [
      'cursor',
      '{"mcpServers": {"a": {}}, "mcpServers": {"b": {}}}',
      '"palisade": {"command":"/usr/bin/node",',
    ],
    ['goose', 'base: &b\n  x: 1\nextensions: *b\n', 'palisade: {"name":"palisade",'],
    ['goose', 'extensions: # none\n  # yet\n  {}\n', 'palisade: {"name":"palisade",'],
    ['continue', 'a: 1\n...\n', '- {"name":"palisade",'],
    [
      'codex',
      'mcp_servers = { x = { url = "y" } }\n',
      'palisade = { required = true, command = "/usr/bin/node", args = [',
    ],
    ['mistral-vibe', 'mcp_servers = [{ name = "x" }]\n', '{ name = "palisade", transport = "stdio", '],
  ])(
    'leaves a file of %s to its owner that it cannot edit alone, with the line to paste: %j',
    (id, text, line) => {
      const { message, remedy } = refusalOf(() => connected(id, text));
      expect(message).toMatch(/^Cannot edit "palisade" in "the file": /);
      expect(remedy).toContain(`Nothing was changed. Add this line to ${clientOf(id).key} by hand: ${line}`);
    },
  );

  test('shows only the keys that differ of a server that it cannot wrap alone', () => {
    const shared = 'extensions:\n  a: &x\n    cmd: npx\n    args: [y]\n    envs: {K: secret}\n  b: *x\n';
    const { message, remedy } = refusalOf(() => planWrap(sourceOf('goose', shared), 'a', WRAPPER));
    expect(message).toContain('more would change than the entry');
    expect(remedy).toContain(
      'Change these keys of "a" in extensions by hand: a: {"cmd":"/usr/bin/node","args":',
    );
    expect(remedy).not.toContain('secret');
  });

  test('takes a key like __proto__ for a key', () => {
    const text = '{\n  "__proto__": {"polluted": 1},\n  "mcpServers": {"__proto__": {}}\n}\n';
    const after = connected('cursor', text);
    expect(after).toContain('"__proto__": {"polluted": 1}');
    expect(planDisconnect(sourceOf('cursor', after), OWN_ENTRY, [text])?.text).toBe(text);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });
});

describe('planDisconnect()', () => {
  test('takes out exactly our lines where the file was changed since', () => {
    const text = '{\n  "mcpServers": {\n    "a": {} // mine\n  }\n}\n';
    const changed = connected('cursor', text).replace('"a": {}', '"a": {"x": [1]}');
    expect(planDisconnect(sourceOf('cursor', changed), OWN_ENTRY, [text])?.text).toBe(
      text.replace('"a": {}', '"a": {"x": [1]}'),
    );
  });

  test('takes the place for servers with it where the file had none before', () => {
    const text = '{\n  "a": 1\n}\n';
    const changed = connected('cursor', text).replace('1', '2');
    expect(planDisconnect(sourceOf('cursor', changed), OWN_ENTRY, [text])?.text).toBe('{\n  "a": 2\n}\n');
    expect(planDisconnect(sourceOf('cursor', changed), OWN_ENTRY, ['{"mcpServers": {}}'])?.text).toContain(
      '"mcpServers": {',
    );
  });

  test('leaves nothing of a file that held nothing else', () => {
    for (const id of ['cursor', 'goose', 'continue', 'codex', 'mistral-vibe'])
      expect(planDisconnect(sourceOf(id, connected(id, '')), OWN_ENTRY, [])?.text).toBeNull();
  });

  test('unwraps a server that a backup has wrapped, too', () => {
    const text = '{\n  "mcpServers": {\n    "a": {"command": "npx", "env": {"K": "v"}}\n  }\n}\n';
    const wrapped = planWrap(sourceOf('cursor', text), 'a', WRAPPER)?.text ?? '';
    const both = connected('cursor', wrapped);
    const undone = planDisconnect(sourceOf('cursor', both), OWN_ENTRY, [wrapped, text]);
    expect(undone).toMatchObject({ text, isRestored: true, unwrapped: ['a'], removed: 'palisade' });
    const without = planDisconnect(sourceOf('cursor', both), OWN_ENTRY, [wrapped]);
    expect(without).toMatchObject({ isRestored: false, unwrapped: ['a'], kept: [] });
    expect(serverNamed(sourceOf('cursor', without?.text ?? ''), 'a')?.value).toMatchObject({
      command: 'npx',
      args: [],
      env: { K: 'v' },
    });
  });

  test('keeps what its owner changed of a wrapped server', () => {
    const text = '{"mcpServers": {"a": {"command": "npx", "args": ["old"]}}}';
    const wrapped = planWrap(sourceOf('cursor', text), 'a', WRAPPER)?.text ?? '';
    const changed = wrapped.replace('"old"', '"new"');
    expect(planDisconnect(sourceOf('cursor', changed), OWN_ENTRY, [text])?.text).toBe(
      '{"mcpServers": {"a": {"command": "npx", "args": ["new"]}}}',
    );
  });

  test('undoes what can be undone, and says what cannot', () => {
    const text = 'extensions:\n  a:\n    cmd: npx\n    args: [y]\n  b: 1\n';
    const wrapped = planWrap(sourceOf('goose', text), 'a', WRAPPER)?.text ?? '';
    const shared = connected('goose', wrapped).replace('  a:\n', '  a: &x\n').replace('b: 1', 'b: *x');
    const undone = planDisconnect(sourceOf('goose', shared), OWN_ENTRY, [text]);
    expect(undone).toMatchObject({ removed: 'palisade', unwrapped: [] });
    // Both have the wrapped command, and neither can have its own without the other.
    expect(undone?.kept.map(({ server }) => server)).toEqual(['a', 'b']);
    expect(undone?.kept[0]?.refusal.remedy).toContain(
      'Change these keys of "a" in extensions by hand: a: {"cmd":"npx"',
    );
    expect(serversIn(sourceOf('goose', undone?.text ?? '')).map(({ name }) => name)).toEqual(['a', 'b']);
  });

  test('gives the token that the entry had', () => {
    const text = planConnect(sourceOf('zed', ''), OWN_ENTRY, HTTP)?.text ?? '';
    expect(planDisconnect(sourceOf('zed', text), OWN_ENTRY, [])?.token).toBe(HTTP.token);
  });

  test('knows an entry by its address, too', () => {
    const text = `{"mcpServers": {"palisade": {"url": "${OWN_ENTRY.url}"}, "b": {}}}`;
    expect(planDisconnect(sourceOf('kiro', text), OWN_ENTRY, [])?.text).toBe('{"mcpServers": {"b": {}}}');
  });
});

describe('planWrap()', () => {
  const file = '{"mcpServers": {"files": {"command": "npx"}, "web": {"url": "https://x"}}}';

  test('starts a server through the gateway, and planDisconnect() as before', () => {
    const text = planWrap(sourceOf('cursor', file), 'files', WRAPPER)?.text ?? '';
    expect(serverNamed(sourceOf('cursor', text), 'files')?.value).toMatchObject({
      command: WRAPPER.program[0],
      args: [WRAPPER.program[1], ...WRAPPER.flags, '--', 'npx'],
    });
    expect(planDisconnect(sourceOf('cursor', text), OWN_ENTRY, [file])?.text).toBe(file);
    // Changed since: its command is in the entry itself.
    const moved = text.replace('https://x', 'https://y');
    expect(planDisconnect(sourceOf('cursor', moved), OWN_ENTRY, [file])?.text).toBe(
      file.replace('https://x', 'https://y'),
    );
  });

  test.each([
    ['goose', 'extensions:\n  files:\n    cmd: npx # here\nb1: 1\n'],
    ['continue', 'mcpServers:\n- name: files\n  command: npx # here\n- name: b1\n'],
    ['codex', '[mcp_servers.files]\ncommand = "npx" # here\n\n[mcp_servers.files.env]\nA = "b1"\n'],
    ['mistral-vibe', '[[mcp_servers]]\nname = "files"\ncommand = "npx" # here\n[b1]\n'],
  ])('gives %s a server without arguments back as it was, also where the file was changed', (id, text) => {
    const wrapped = planWrap(sourceOf(id, text), 'files', WRAPPER)?.text ?? '';
    expect(wrapped).toContain(' # here');
    expect(planDisconnect(sourceOf(id, wrapped), OWN_ENTRY, [text])?.text).toBe(text);
    const edited = planDisconnect(sourceOf(id, wrapped.replace('b1', 'c1')), OWN_ENTRY, [text]);
    expect(edited?.text).toBe(text.replace('b1', 'c1'));
  });

  test.each([
    ['npx', '-y', 'palisade'],
    ['npx', '--yes', '--quiet', 'palisade@0.1.0'],
    ['/usr/bin/node', '/x/palisade.js'],
  ])('does not wrap a second time what %s %s starts through the gateway', (...program) => {
    const [command, ...args] = [...program, 'mcp', 'wrap', '--name', 'files', '--', 'npx', 'files-server'];
    const text = JSON.stringify({ mcpServers: { files: { command, args } } });
    const after = planWrap(sourceOf('cursor', text), 'files', WRAPPER)?.text ?? '';
    expect(after.match(/"wrap"/g)).toHaveLength(1);
    const undone = planDisconnect(sourceOf('cursor', after), OWN_ENTRY, [text])?.text ?? '';
    expect(JSON.parse(undone).mcpServers.files).toEqual({ command: 'npx', args: ['files-server'] });
  });

  test('keeps the flags of a wrapped server, and brings the program up to date', () => {
    const old = { ...WRAPPER, program: ['/old/node', '/old/palisade.js'] };
    const text = planWrap(sourceOf('cursor', file), 'files', old)?.text ?? '';
    const flagged = text.replace('"--","npx"', '"--risk", "low", "--","npx"');
    const after = planWrap(sourceOf('cursor', flagged), 'files', WRAPPER)?.text ?? '';
    expect(after).toContain('"/opt/palisade/bin/palisade.js","mcp","wrap"');
    expect(after).toContain('"--risk","low","--","npx"');
    expect(planDisconnect(sourceOf('cursor', after), OWN_ENTRY, [file])?.text).toBe(file);
  });

  test.each([
    ['a server that is not there', 'nowhere', '"the file" does not have it, expected one of: files, web'],
    ['one that is an address', 'web', 'it is not started by a command'],
  ])('refuses %s', (_, server, why) => {
    expect(refusalOf(() => planWrap(sourceOf('cursor', file), server, WRAPPER)).message).toContain(why);
  });

  test('refuses palisade itself', () => {
    const text = connected('cursor', file);
    expect(refusalOf(() => planWrap(sourceOf('cursor', text), 'palisade', WRAPPER)).message).toContain(
      'leads to palisade already',
    );
  });
});
