import { LIMIT_CEILINGS } from '../../../../core/limits.ts';
import type { Narrowing } from '../../../../skills/grant.ts';
import { readBytes, readTime } from '../../exec/quantities.ts';
import { numberOf, textOf, wrongUsage } from '../../input.ts';
import type { Invocation } from '../../verb.ts';
import { listOf } from './act.ts';

const MOST_WORDS = 256;

/** What the flags of an approval take away, and the values that they give; what fits the skill is for the grant. */
export function narrowingOf(invocation: Invocation): Narrowing {
  const withhold = listOf(invocation, 'withhold');
  if (withhold.length > MOST_WORDS)
    throw wrongUsage(
      `Cannot withhold so much: --withhold is given ${withhold.length} times, expected ${MOST_WORDS}`,
    );
  return { withhold, limits: limitsOf(invocation), config: configOf(listOf(invocation, 'config')) };
}

function limitsOf(invocation: Invocation): Narrowing['limits'] {
  const [memory, timeout] = [textOf(invocation, 'memory'), textOf(invocation, 'timeout')];
  const fuel = numberOf(invocation, 'fuel', { min: 1, max: LIMIT_CEILINGS.fuel, absent: 0 });
  return {
    ...(fuel === 0 ? {} : { fuel }),
    ...(memory === undefined ? {} : { memoryBytes: readBytes('memory', memory, LIMIT_CEILINGS.memoryBytes) }),
    ...(timeout === undefined ? {} : { wallMs: readTime('timeout', timeout) }),
  };
}

function configOf(words: readonly string[]): Readonly<Record<string, string>> {
  const config = new Map<string, string>();
  for (const word of words) {
    const [, key, value = ''] = /^([^=]+)=(.*)$/s.exec(word) ?? [];
    if (key === undefined)
      throw wrongUsage(`Cannot use --config "${word}": it has no "=", expected KEY=VALUE`);
    if (config.has(key))
      throw wrongUsage(`Cannot use --config "${word}": "${key}" is given twice, expected it once`);
    config.set(key, value);
  }
  // Boundary: entries, never assignments: a key such as __proto__ is a key like any other.
  return Object.fromEntries(config);
}
