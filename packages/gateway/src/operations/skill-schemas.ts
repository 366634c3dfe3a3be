import * as z from 'zod';
import { SKILL_STATES, type SkillState } from '../skills/lifecycle.table.ts';
import { VERSION_CHARS, VERSION_PATTERN } from '../skills/semver.ts';
import { annotations, anyJson, isoTimeText, keyId, risk, sha256, trustOrigin } from './schema-parts.ts';

export const skillId = z
  .string()
  .max(64)
  .regex(/^[a-z0-9]+(?:[.-][a-z0-9]+)+$/)
  .describe('The id of a skill, as acme.text.');
export const skillVersion = z
  .string()
  .max(VERSION_CHARS)
  .regex(new RegExp(VERSION_PATTERN))
  .describe('A version by Semantic Versioning, as 1.2.0.');
export const skillState = z.enum(Object.keys(SKILL_STATES) as [SkillState, ...SkillState[]]);

const names = z.array(z.string());
const perQuota = <T extends z.ZodType>(each: T) => z.object({ wallMs: each, fuel: each, memoryBytes: each });
const verdict = z.enum(['passed', 'failed']);

const facts = {
  id: skillId,
  version: skillVersion,
  state: skillState,
  name: z.string(),
  publisher: z.string(),
  artifact: sha256.describe('The SHA-256 digest of the package.'),
  keyId: keyId.describe('Of the key that signed it.'),
  trust: trustOrigin.describe('How that key came to be trusted.'),
  reason: z.string().nullable().describe('Of the last change.'),
  approvedBy: names,
  installedAt: isoTimeText,
  installedBy: z.string(),
  changedAt: isoTimeText,
  changedBy: z.string().describe('A principal, or "gateway".'),
  auditedAt: isoTimeText.nullable(),
};

export const skillSummary = z
  .object({ ...facts, tools: z.int().describe('How many tools it has.'), verdict: verdict.nullable() })
  .meta({ id: 'SkillSummary' });

const finding = z.object({
  id: z.string().describe('Of the check that found it.'),
  severity: z.enum(['refusal', 'warning', 'note']),
  where: z.string(),
  sentence: z.string(),
  remedy: z.string(),
});

const auditReport = z
  .object({
    format: z.literal(1),
    skill: skillId,
    version: skillVersion,
    artifact: sha256,
    verdict,
    findings: z.array(finding),
    checks: z.int().describe('How many checks looked.'),
    cases: z
      .object({ passed: z.int(), failed: z.int(), notRun: z.int() })
      .nullable()
      .describe('How the test cases of the package ended; null: they were not run.'),
    palisade: z.string().describe('The version that audited.'),
    modules: z
      .array(z.object({ path: z.string(), imports: names.nullable() }))
      .optional()
      .describe('The functions of the ABI that each module imports; null: unknown, and counts as all.'),
  })
  .meta({ id: 'AuditReport' });

const skillTool = z.object({
  id: z.string(),
  name: z.string(),
  description: z.string(),
  risk,
  module: z.string(),
  export: z.string(),
  inputSchema: z.record(z.string(), anyJson),
  outputSchema: z.record(z.string(), anyJson),
  annotations,
  reach: z
    .object({ risk, capabilities: names, hosts: names })
    .describe(
      'What it can do with the grant, as far as its own module can use it; before an approval, with all that is requested.',
    ),
});

const grant = z.object({
  wasm: z.object({
    http: z.array(z.string().nullable()),
    secrets: z.array(
      z.object({
        name: z.string(),
        mayReveal: z.boolean(),
        scope: z.enum(['global', 'tenant', 'principal', 'skill']).optional(),
        hosts: names,
      }),
    ),
    storage: z.array(z.object({ read: names, write: names })),
    channels: z.array(z.object({ name: z.string(), publish: z.boolean(), receive: z.boolean() })),
    log: z.boolean(),
    clock: z.boolean(),
    random: z.boolean(),
    config: z.record(z.string(), z.string()).nullable(),
  }),
  limits: perQuota(z.int().optional()),
});

const skill = z
  .object({
    ...facts,
    description: z.string(),
    license: z.string().nullable(),
    homepage: z.string().nullable(),
    verdict: verdict.nullable(),
    tools: z.array(skillTool),
    capabilities: z.array(
      z.object({
        spelling: z.string().describe('The spelling that withholds it.'),
        sentence: z.string(),
        isReaching: z.boolean(),
        stand: z.enum(['open', 'granted', 'narrowed', 'withheld']),
        granted: names,
      }),
    ),
    quotas: perQuota(z.int().min(0).nullable()),
    review: z.object({ reviewers: z.int(), reauditDays: z.int().nullable() }),
    compat: z.object({ abi: z.literal(1), palisadeMin: z.string().nullable() }),
    grant: grant.nullable(),
    report: auditReport.nullable(),
  })
  .meta({ id: 'Skill' });

export const shownSkill = skill
  .extend({
    versions: z.array(z.object({ version: skillVersion, state: skillState })),
    keyState: z
      .enum(['trusted', 'retired', 'expired', 'revoked', 'not trusted'])
      .describe('What the key that signed it is valid for now.'),
    reviewersRequired: z.int().describe('By the skill, or by the operator where that is more.'),
  })
  .meta({ id: 'ShownSkill' });

const difference = {
  widens: z.boolean().describe('It could do more than before.'),
  capabilities: z.object({ added: names, removed: names }),
  quotas: z.array(
    z.object({
      name: z.enum(['wallMs', 'fuel', 'memoryBytes']),
      before: z.int().nullable(),
      after: z.int().nullable(),
    }),
  ),
  reviewers: z.object({ before: z.int(), after: z.int() }).nullable(),
  tools: z.object({
    added: names,
    removed: names,
    changed: z.array(z.object({ id: z.string(), what: names })),
  }),
  config: z
    .object({ kept: z.record(z.string(), z.string()), added: names, removed: names })
    .describe('The values that are kept when it is approved, and the keys that are new or gone.'),
  prose: z.object({ changed: z.boolean(), lines: names }),
};

const skillDifference = z.object(difference).meta({ id: 'SkillDifference' });
export const skillComparison = z
  .object({
    id: skillId,
    from: skillVersion,
    to: skillVersion,
    against: z.enum(['asked', 'granted']),
    ...difference,
  })
  .meta({ id: 'SkillComparison' });

export const skillAudit = auditReport
  .extend({ state: skillState, reason: z.string().nullable() })
  .meta({ id: 'SkillAudit' });

export const installedSkill = z.object({
  skill,
  difference: skillDifference.nullable().describe('Against the version that runs; null: none does.'),
  isNew: z.boolean().describe('False: the very same package was installed already.'),
});

export const approvedSkill = skill
  .extend({ reviewersMissing: z.int().describe('How many others have to approve the same.') })
  .meta({ id: 'ApprovedSkill' });

export const changedSkill = skill
  .extend({ event: z.enum(['quarantine', 'enable', 'disable', 'revoke', 'remove']) })
  .meta({ id: 'ChangedSkill' });

export const removedSkill = changedSkill
  .extend({
    left: z
      .object({
        storage: z.array(z.object({ tenant: z.string(), keys: z.int(), bytes: z.int() })),
        secrets: z.array(z.string()).describe('The names of those that were set for this skill alone.'),
      })
      .nullable()
      .describe('What it leaves, as far as the caller may see it; null: another version is installed.'),
  })
  .meta({ id: 'RemovedSkill' });
