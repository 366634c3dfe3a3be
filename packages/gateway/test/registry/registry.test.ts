import { describe, expect, it } from 'vitest';
import type { ToolCall } from '../../src/core/call.ts';
import { type Digest, digestBytes } from '../../src/core/digest.ts';
import { DEFAULT_LIMITS, LIMIT_CEILINGS, type Limits } from '../../src/core/limits.ts';
import type { Tool } from '../../src/core/tool.ts';
import { NO_GRANTS } from '../../src/core/wasm.ts';
import { BUILTIN_TOOLS } from '../../src/registry/builtin.table.ts';
import { Registry, type RegistryOptions } from '../../src/registry/registry.ts';
import { Schemas } from '../../src/registry/schema.ts';
import { ADA, makeTool, NOON } from '../fixture/gateway.ts';

const schemas = new Schemas();

function registry(tools: readonly Tool[], options: Partial<RegistryOptions> = {}): Registry {
  return new Registry({
    tools,
    input: { maxBytes: 1024, maxDepth: 16 },
    limits: DEFAULT_LIMITS,
    ceilings: LIMIT_CEILINGS,
    loadSchemas: async () => schemas,
    ...options,
  });
}

function call(tool: string, wishes: Partial<ToolCall> = {}): ToolCall {
  const about = { id: 'call_1', principal: ADA, tenant: 'default', run: null, door: 'test', tool };
  return { ...about, rawInput: '{}', timeoutMs: null, source: null, receivedAtMs: NOON, ...wishes };
}

const idle = async () => null;
const MODULE: Tool['executor'] = {
  kind: 'wasm',
  program: {
    skill: 'a.a',
    sha256: digestBytes('') as Digest,
    read: async () => new Uint8Array(),
    exportName: 'a',
    grants: NO_GRANTS,
  },
};

describe('check()', () => {
  it('gives the input as it was read once, with its canonical text and digest', async () => {
    const tools = registry([makeTool('a', idle)]);
    const one = await tools.check(call('a', { rawInput: ' {"b": 1.0, "a": "\\u0041"} ' }));
    const two = await tools.check(call('a', { rawInput: Buffer.from('{"a":"A","b":1}') }));
    expect(one).toMatchObject({ input: { a: 'A', b: 1 }, inputText: '{"a":"A","b":1}' });
    expect('inputDigest' in one && 'inputDigest' in two && one.inputDigest === two.inputDigest).toBe(true);
  });

  it.each([
    ['a tool that is not there', 'b', '{}', 'registry/unknown-tool'],
    ['a tool that every object has', 'constructor', '{}', 'registry/unknown-tool'],
    ['an input that is no JSON', 'a', '{', 'registry/invalid-input'],
    ['a key that occurs twice', 'a', '{"x":1,"x":2}', 'registry/invalid-input'],
    ['an input that is too large', 'a', `{"x":"${'x'.repeat(1024)}"}`, 'registry/invalid-input'],
    ['an input that is too deep', 'a', `${'['.repeat(17)}${']'.repeat(17)}`, 'registry/invalid-input'],
    ['an input that does not fit', 'a', '[]', 'registry/invalid-input'],
    ['a number that is not exact', 'a', '{"x":9007199254740993}', 'registry/invalid-input'],
  ])('refuses %s', async (_, tool, rawInput, code) => {
    expect(await registry([makeTool('a', idle)]).check(call(tool, { rawInput }))).toMatchObject({
      status: 'refused',
      code,
    });
  });

  it('goes on when the compiler of schemas could not be loaded at first', async () => {
    let loads = 0;
    const loadSchemas = async () => {
      loads += 1;
      if (loads === 1) throw new Error('too many open files');
      return schemas;
    };
    // A keyword that is only known to the compiler.
    const inputSchema = { type: 'object', minContains: 0 };
    const tools = registry([makeTool('a', idle, { inputSchema })], { loadSchemas });
    await expect(tools.check(call('a'))).rejects.toThrow('too many open files');
    expect(await tools.check(call('a'))).toMatchObject({ inputText: '{}' });
    await tools.check(call('a'));
    expect(loads).toBe(2);
  });

  it('loads it for no sound input of a tool with a plain schema, and words the problem of any other with it', async () => {
    let loads = 0;
    const loadSchemas = async () => {
      loads += 1;
      return schemas;
    };
    const inputSchema = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] };
    const tools = registry([makeTool('a', idle, { inputSchema })], { loadSchemas });
    expect(await tools.check(call('a', { rawInput: '{"a":"b"}' }))).toMatchObject({ inputText: '{"a":"b"}' });
    expect(loads).toBe(0);
    expect(await tools.check(call('a', { rawInput: '{"a":1}' }))).toMatchObject({
      code: 'registry/invalid-input',
      message: 'Cannot accept the input of a: /a must be string',
    });
    expect(loads).toBe(1);
  });
});

describe('the limits of a call', () => {
  const of = async (tool: Partial<Limits>, timeoutMs: number | null, configured: Partial<Limits> = {}) => {
    const tools = registry([makeTool('a', idle, { limits: { ...LIMIT_CEILINGS, ...tool } })], {
      limits: { ...DEFAULT_LIMITS, ...configured },
      ceilings: { ...LIMIT_CEILINGS, wallMs: 100_000 },
    });
    const checked = await tools.check(call('a', { timeoutMs }));
    return 'limits' in checked ? checked.limits : null;
  };

  it.each([
    ['are the configured ones when nobody asks', { wallMs: 900_000 }, null, 30_000],
    ['are those of the tool when they are lower', { wallMs: 500 }, null, 500],
    ['are what the caller asks for when that is less', { wallMs: 900_000 }, 10, 10],
    ['may be more time than configured when the caller asks', { wallMs: 60_000 }, 50_000, 50_000],
    ['are never more than the tool takes', { wallMs: 60_000 }, 70_000, 60_000],
    ['are never more than the ceiling', { wallMs: 900_000 }, 800_000, 100_000],
  ])('%s', async (_, tool, timeoutMs, expected) => {
    expect((await of(tool, timeoutMs))?.wallMs).toBe(expected);
  });

  it('other than time are not for the caller to raise', async () => {
    expect(await of({}, 90_000, { outputBytes: 7, fuel: 8 })).toMatchObject({ outputBytes: 7, fuel: 8 });
  });
});

describe('the definition digest of a tool', () => {
  const digest = (tool: Tool) => registry([tool]).find(tool.id)?.digest;
  const base = makeTool('a', idle);

  it.each([
    ['description', { description: 'Other.' }],
    ['category', { category: 'other' }],
    ['risk', { risk: 'high' }],
    ['input schema', { inputSchema: { type: 'object', maxProperties: 1 } }],
    ['output schema', { outputSchema: { type: 'object' } }],
    ['capabilities', { capabilities: ['http'] }],
    ['limits', { limits: { ...DEFAULT_LIMITS, wallMs: 1 } }],
    ['artifacts', { artifacts: [{ name: 'module', sha256: 'x' as never }] }],
  ] as const)('changes with its %s', (_, change) => {
    expect(digest({ ...base, ...change })).not.toBe(digest(base));
    expect(digest({ ...base })).toBe(digest(base));
  });
});

describe('the built-in tools', () => {
  it('are listed by their id and have schemas that compile', () => {
    const ids = registry([...BUILTIN_TOOLS].reverse())
      .list()
      .map(({ id }) => id);
    expect(ids).toEqual([...ids].sort());
    for (const tool of BUILTIN_TOOLS) {
      expect(() => schemas.compile(tool.inputSchema)).not.toThrow();
      expect(() => schemas.compile(tool.outputSchema)).not.toThrow();
    }
  });

  it.each(['{"ms":-1}', '{"ms":900001}', '{"ms":1.5}', '{"ms":"1"}', '{}', '{"ms":1,"x":1}'])(
    'do not sleep on %s',
    async (rawInput) => {
      const checked = await registry(BUILTIN_TOOLS).check(call('palisade.sleep', { rawInput }));
      expect(checked).toMatchObject({ code: 'registry/invalid-input' });
    },
  );
});

describe('the time of a call of a module', () => {
  const of = async (timeoutMs: number | null, wallMs: number) => {
    const tool = { ...makeTool('a', idle, { limits: LIMIT_CEILINGS }), executor: MODULE };
    const checked = await registry([tool], { wasm: { wallMs } }).check(call('a', { timeoutMs }));
    return 'limits' in checked ? checked.limits.wallMs : null;
  };

  it.each([
    ['is that of the configuration', null, 40_000, 40_000],
    ['is what the caller asks for when that is less', 10, 40_000, 10],
    ['is never more than the configuration gives, whoever asks', 90_000, 40_000, 40_000],
  ])('%s', async (_, timeoutMs, wallMs, expected) => {
    expect(await of(timeoutMs, wallMs)).toBe(expected);
  });
});
