import { keyState } from '../../../../operations/trust.ts';
import type { InstalledSkill } from '../../../../skills/index/skill.ts';
import { keyAt } from '../../../../skills/trust.ts';
import type { Reader } from '../../../../store/transaction.ts';

const TRUSTED = { operator: 'trusted by an operator', 'first-use': 'trusted on first use' } as const;

/** Who signed a skill, and what that key is worth at this moment: a word of the day it came in could mislead. */
export function signerNow(reader: Reader, skill: InstalledSkill, nowMs: number): string {
  const { publisher, keyId, trust } = skill;
  const key = keyAt(reader, keyId);
  const state = key === null || key.publisher !== publisher ? 'not trusted' : keyState(key, nowMs);
  return `${publisher}, key ${keyId}, ${state === 'trusted' ? TRUSTED[trust] : state}`;
}
