import type { Route } from '../route.ts';
import { approvalsRoutes } from './approvals.ts';
import { budgetsRoutes } from './budgets.ts';
import { callsRoutes } from './calls.ts';
import { doctorRoutes } from './doctor.ts';
import { journalRoutes } from './journal.ts';
import { keysRoutes } from './keys.ts';
import { policiesRoutes } from './policies.ts';
import { runsRoutes } from './runs.ts';
import { secretsRoutes } from './secrets.ts';
import { skillsRoutes } from './skills.ts';
import { tokensRoutes } from './tokens.ts';
import { toolsRoutes } from './tools.ts';
import { trustRoutes } from './trust.ts';
import { upstreamsRoutes } from './upstreams.ts';
import { whoamiRoutes } from './whoami.ts';

/** Everything that the HTTP door does, in the order in which it is documented. */
export const ROUTES: readonly Route[] = [
  ...callsRoutes,
  ...runsRoutes,
  ...toolsRoutes,
  ...approvalsRoutes,
  ...budgetsRoutes,
  ...skillsRoutes,
  ...trustRoutes,
  ...policiesRoutes,
  ...secretsRoutes,
  ...journalRoutes,
  ...upstreamsRoutes,
  ...keysRoutes,
  ...tokensRoutes,
  ...whoamiRoutes,
  ...doctorRoutes,
];
