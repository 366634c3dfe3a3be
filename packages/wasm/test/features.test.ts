import { describe, expect, it } from 'vitest';
import { WasmError } from '../src/error.ts';
import { FEATURES, type Feature, type FeatureName, requireFeature } from '../src/features.table.ts';
import { hasExtendedConstants, hasMultiMemory } from './fixture/features.ts';

const rows: readonly (Feature & { readonly name: FeatureName })[] = FEATURES;
/** Features that the oldest V8 we run on lacks; all others are there. */
const YOUNG = new Map<FeatureName, boolean>([
  ['multi-memory', hasMultiMemory],
  ['extended-constants', hasExtendedConstants],
]);

function refusal(name: FeatureName): WasmError | undefined {
  try {
    requireFeature(name, 42);
    return undefined;
  } catch (error) {
    if (error instanceof WasmError) return error;
    throw error;
  }
}

describe('the feature table', () => {
  it('names each feature once', () => {
    expect(new Set(rows.map((row) => row.name)).size).toBe(rows.length);
  });

  it('has a sentence for each feature, and a probe for each that is allowed', () => {
    for (const { name, sentence, allowed, probe } of rows) {
      expect(sentence, name).toMatch(/^[A-Z].*\.$/);
      expect(probe !== undefined, name).toBe(allowed);
    }
  });

  it.each(rows.filter((row) => row.allowed))(
    '$name is probed with a module that V8 takes',
    ({ name, probe }) => {
      expect(WebAssembly.validate(new Uint8Array(probe ?? []))).toBe(YOUNG.get(name) ?? true);
    },
  );
});

describe('requireFeature()', () => {
  it.each(rows.filter((row) => row.allowed))('lets $name through where V8 has it', ({ name }) => {
    const isThere = YOUNG.get(name) ?? true;
    expect(refusal(name)?.detail).toBe(isThere ? undefined : name);
  });

  it.each(rows.filter((row) => !row.allowed))('refuses $name by name, whatever V8 has', ({ name }) => {
    expect(refusal(name)).toMatchObject({ code: 'feature', detail: name, offset: 42 });
    expect(refusal(name)?.message).toMatch(/expected only features that are allowed/);
  });

  it('gives the same answer the second time', () => {
    for (const { name } of rows) expect(refusal(name)?.message, name).toBe(refusal(name)?.message);
  });

  it.each(['threads', 'gc', 'exceptions', 'memory64', 'relaxed-simd', 'unknown'] as const)(
    'is closed for %s',
    (name) => {
      expect(refusal(name)?.code).toBe('feature');
    },
  );
});
