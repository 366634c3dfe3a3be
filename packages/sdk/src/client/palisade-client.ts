import { type ClientOptions, connectionOf } from './connection.ts';
import { makeApprovals, makeCalls, makeRuns, makeTools, makeUndo } from './groups/calls.ts';
import {
  makeHealth,
  makeKeys,
  makePolicies,
  makeSecrets,
  makeSessions,
  makeTokens,
} from './groups/gateway.ts';
import { makeChannels, makeStorage } from './groups/guests.ts';
import { makeJournal } from './groups/journal.ts';
import { makeSkills, makeTrust, makeUpstreams } from './groups/skills.ts';
import { makeSender, type RequestOptions, type Sender } from './send.ts';
import type { Budgets, DoctorReport, WhoAmI } from './wire.ts';

/**
 * Talks to one gateway with one token. It keeps no connection and no state of its own, so there is nothing to close.
 * Every failure is thrown as a PalisadeError; a signal that fires is thrown as its reason.
 */
export class PalisadeClient {
  readonly #send: Sender;
  readonly calls: ReturnType<typeof makeCalls>;
  readonly undo: ReturnType<typeof makeUndo>;
  readonly runs: ReturnType<typeof makeRuns>;
  readonly tools: ReturnType<typeof makeTools>;
  readonly approvals: ReturnType<typeof makeApprovals>;
  readonly skills: ReturnType<typeof makeSkills>;
  readonly trust: ReturnType<typeof makeTrust>;
  readonly policies: ReturnType<typeof makePolicies>;
  readonly secrets: ReturnType<typeof makeSecrets>;
  readonly storage: ReturnType<typeof makeStorage>;
  readonly channels: ReturnType<typeof makeChannels>;
  readonly journal: ReturnType<typeof makeJournal>;
  readonly keys: ReturnType<typeof makeKeys>;
  readonly sessions: ReturnType<typeof makeSessions>;
  readonly tokens: ReturnType<typeof makeTokens>;
  readonly upstreams: ReturnType<typeof makeUpstreams>;
  readonly health: ReturnType<typeof makeHealth>;

  constructor(options: ClientOptions) {
    const send = makeSender(connectionOf(options));
    this.#send = send;
    this.calls = makeCalls(send);
    this.undo = makeUndo(send);
    this.runs = makeRuns(send);
    this.tools = makeTools(send);
    this.approvals = makeApprovals(send);
    this.skills = makeSkills(send);
    this.trust = makeTrust(send);
    this.policies = makePolicies(send);
    this.secrets = makeSecrets(send);
    this.storage = makeStorage(send);
    this.channels = makeChannels(send);
    this.journal = makeJournal(send);
    this.keys = makeKeys(send);
    this.sessions = makeSessions(send);
    this.tokens = makeTokens(send);
    this.upstreams = makeUpstreams(send);
    this.health = makeHealth(send);
  }

  /** The principal of this client, and what its token is valid for. */
  whoami(options?: RequestOptions): Promise<WhoAmI> {
    return this.#send.json('whoAmI', { options });
  }

  /** The budgets, and what is left of them. */
  budgets(options?: RequestOptions): Promise<Budgets> {
    return this.#send.json('listBudgets', { options });
  }

  /** The state of the gateway, with a remedy for each problem. */
  doctor(options?: RequestOptions): Promise<DoctorReport> {
    return this.#send.json('getDoctor', { options });
  }
}
