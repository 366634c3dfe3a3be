/**
 * Takes a skill out of use that traps again and again. Only traps count, which are bugs of the module: not fuel, time,
 * memory, output or the depth of calls, which an input can use up, and not errors that a tool reports. The same call again
 * is the same trap, and any success of the version, whoever called, ends the count. So a caller with one bad input, or one
 * that wants to harm others, does not stop a skill that works for them; and where it does fail, the record names the calls
 * and the callers that were counted.
 */
import { trapInWords } from '../../core/call-log.ts';
import type { CheckedCall } from '../../core/checked-call.ts';
import { digestValue } from '../../core/digest.ts';
import { formatPrincipal } from '../../core/principal.ts';
import { versionsOf } from '../../skills/index/read.ts';
import { addTrap, forgetTraps } from '../../skills/index/traps.ts';
import type { TrapRow } from '../../skills/tables.ts';
import type { Transaction } from '../../store/transaction.ts';
import type { RunResult } from '../../tiers/tier.ts';
import type { Line } from '../gateway.ts';
import { move } from './skill-acts.ts';

/** Counts how a call of a skill ended, in the transaction that records it. */
export function countEnding(line: Line, tx: Transaction, checked: CheckedCall, result: RunResult): void {
  const { call, tool, inputDigest } = checked;
  const { skill } = tool;
  if (skill === undefined) return;
  const { ending, isTrap, log } = result;
  // A tool that reports an error has run as its author meant it to.
  const isWorking = ending.status === 'ok' || ending.code === 'tier/tool-error';
  if (isWorking) forgetTraps(tx, skill);
  const { failAfterTraps, failWindowMs } = line.skills.terms;
  if (isWorking || isTrap !== true || failAfterTraps === 0) return;
  const { id, version } = skill;
  const atMs = line.clock.nowMs();
  const trap: TrapRow = {
    ...{ id, version, input: digestValue([tool.id, inputDigest]), at_ms: atMs, call: call.id },
    ...{ principal: formatPrincipal(call.principal), tenant: call.tenant },
    place: trapInWords(log?.trap ?? []),
  };
  const traps = addTrap(tx, trap, atMs - failWindowMs);
  if (traps.length >= failAfterTraps) failSkill(line, tx, traps);
}

function failSkill(line: Line, tx: Transaction, traps: readonly TrapRow[]): void {
  const last = traps.at(-1);
  if (last === undefined) return;
  const { id, version, call } = last;
  // It may have been disabled or replaced while the call ran.
  const skill = versionsOf(tx, id).find((each) => each.version === version && each.state === 'active');
  if (skill === undefined) return;
  const reason = `it trapped on ${traps.length} different inputs without a success, the last time in ${call}`;
  const details = {
    traps: traps.map(({ call: each, principal, tenant, place }) => ({
      call: each,
      principal,
      tenant,
      place,
    })),
  };
  move(line, tx, skill, { event: 'fail', acting: null, decidedBy: [], reason, details });
  forgetTraps(tx, last);
}
