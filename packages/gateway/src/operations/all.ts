import * as approvals from './approvals.ts';
import * as budgets from './budgets.ts';
import * as calls from './calls.ts';
import * as channels from './channels.ts';
import * as doctor from './doctor.ts';
import * as identity from './identity.ts';
import * as journal from './journal.ts';
import * as keys from './keys.ts';
import type { Operation } from './operation.ts';
import * as policies from './policies.ts';
import * as secrets from './secrets.ts';
import * as sessions from './sessions.ts';
import * as skills from './skills.ts';
import * as storage from './storage.ts';
import * as tools from './tools.ts';
import * as trust from './trust.ts';
import * as undo from './undo.ts';
import * as upstreams from './upstreams.ts';

/** Every operation, in the order in which they are documented. A process that runs only one of them uses operate.ts. */
export const OPERATIONS: readonly Operation[] = [
  calls,
  undo,
  tools,
  approvals,
  sessions,
  budgets,
  skills,
  trust,
  policies,
  secrets,
  storage,
  channels,
  journal,
  upstreams,
  keys,
  identity,
  doctor,
].flatMap(({ operations }) => operations);
