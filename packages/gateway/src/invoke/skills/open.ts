/** Makes the room of skills ready: nothing of any skill is read before somebody calls it. */
import { join } from 'node:path';
import type { Config } from '../../config/config.ts';
import { SkillTools } from '../../registry/skill-tools.ts';
import { advisoryFile } from '../../skills/advisory-file.ts';
import { Artifacts } from '../../skills/artifacts.ts';
import { RunningSkills } from '../../skills/running.ts';
import type { Gateway, Records, SkillRoom } from '../gateway.ts';
import { auditDue, quarantineChanged } from './audit.ts';

export type OpenedSkills = { readonly room: SkillRoom; readonly tools: SkillTools };

export function openSkills(records: Records, { skills }: Config, stateDir: string): OpenedSkills {
  const { firstUse, reviewers, reauditAfterMs, advisories } = skills;
  const room: SkillRoom = {
    artifacts: new Artifacts(join(stateDir, 'skills')),
    running: new RunningSkills(records.store),
    terms: { firstUse, reviewers, reauditAfterMs, advisories: advisoryFile(advisories) },
  };
  const tools = new SkillTools({
    reader: records.store,
    artifacts: room.artifacts,
    clock: records.clock,
    onMisfit: (skill, why) => quarantineChanged({ ...records, skills: room }, skill, { why, acting: null }),
  });
  return { room, tools };
}

const AUDIT_LOOK_MS = 60_000;

/** A gateway that lasts looks every minute for skills whose audit is too old; gives the way to stop that. */
export function auditOnSchedule(gateway: Gateway): () => Promise<void> {
  const stop = new AbortController();
  let last: Promise<unknown> = Promise.resolve();
  const timer = setInterval(() => {
    // What cannot be audited now is audited a minute later; what runs meanwhile was audited before.
    last = last.then(() => auditDue(gateway, stop.signal)).catch(() => undefined);
  }, AUDIT_LOOK_MS).unref();
  return async () => {
    clearInterval(timer);
    stop.abort();
    await last;
  };
}
