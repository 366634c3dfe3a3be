import { describe, expect, test } from 'vitest';
import { Passage } from '../../../src/tiers/child/passage.ts';

describe('a passage', () => {
  test('hands everything on, counts it, and keeps only the beginning of the errors', () => {
    const passage = new Passage();
    const chunk = new Uint8Array(40_000).fill(7);
    for (let i = 0; i < 3; i++) {
      expect(passage.take('stdout', chunk)).toBe(chunk);
      expect(passage.take('stderr', chunk)).toBe(chunk);
    }
    expect(passage.length).toBe(240_000);
    expect(passage.isPassed).toBe(false);
    expect(passage.bytes('stdout')).toHaveLength(0);
    expect(passage.bytes('stderr')).toHaveLength(65_536);
    expect({ kept: passage.keptBytes, isCut: passage.isCut }).toEqual({ kept: 65_536, isCut: true });
  });
});
