import type { Risk } from '../../../../core/tool.ts';
import { openGrants, riskOf } from '../../../../registry/skill-tool.ts';
import type { SkillGrant } from '../../../../skills/grant.ts';

const RISKS: readonly Risk[] = ['low', 'medium', 'high'];

/** The risk that policies see: what the author says, or more where the grant reaches further. */
export function riskWith(said: Risk, grant: SkillGrant | null): Risk {
  const granted = grant === null ? said : riskOf(openGrants(grant.wasm));
  return RISKS.indexOf(granted) > RISKS.indexOf(said) ? granted : said;
}
