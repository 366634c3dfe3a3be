import { describe, expect, test } from 'vitest';
import { CodedError } from '../../src/core/coded-error.ts';
import type { Opened, Records } from '../../src/invoke/gateway.ts';
import { localOwner } from '../../src/operations/access.ts';
import { findOperation, type OperationName, operate } from '../../src/operations/operate.ts';
import { GRACE } from '../fixture/gateway.ts';
import { ask } from './ask.ts';
import { ada, grace, openFixture, otherAda } from './fixture.ts';

const signal = new AbortController().signal;

async function openSetup() {
  const { gateway } = await openFixture();
  const owner = localOwner(GRACE, gateway.config.gateway.tenant);
  return { gateway, context: { gateway, caller: owner, door: 'cli', signal } as const };
}

/** The same gateway as a command has it that opens only the records. */
function recordsOf(gateway: Opened<Records>): Opened<Records> {
  const { version, clock, random, store, presence, keys, journal, segments, vault } = gateway;
  const { redact, keep, config, close, release } = gateway;
  const stores = { store, presence, keys, journal, segments, vault };
  return { ...stores, version, clock, random, redact, keep, config, close, release };
}

describe('operate()', () => {
  test('gives the document of an operation', async () => {
    const { context } = await openSetup();
    expect((await operate(context, 'listTools', { limit: 1 })).tools).toHaveLength(1);
    expect(await operate(context, 'whoAmI', {})).toMatchObject({ credential: 'process' });
  });

  test('refuses a credential without the scope, and an input that the row does not let in', async () => {
    const { context } = await openSetup();
    const caller = { ...ada, scopes: new Set(['call' as const]) };
    const refusals: [() => Promise<unknown>, string][] = [
      [() => operate({ ...context, caller }, 'searchJournal', {}), 'door/insufficient-scope'],
      [() => operate(context, 'searchJournal', { limit: 0 }), 'door/wrong-usage'],
      [() => operate(context, 'searchJournal', { limits: 1 }), 'door/wrong-usage'],
    ];
    for (const [act, code] of refusals) {
      const error = await act().catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(CodedError);
      expect(error).toMatchObject({ code });
    }
  });
});

describe('the owner of the state directory', () => {
  test('reads what every tenant did, with the records alone', async () => {
    const { gateway, context } = await openSetup();
    for (const as of [ada, otherAda]) await ask(gateway, 'createCall', { as, body: { tool: 'test.launch' } });
    const records = { ...context, gateway: recordsOf(gateway) };
    const { approvals } = await operate(records, 'listApprovals', {});
    expect(approvals.map(({ tenant }) => tenant).sort()).toEqual(['acme', 'default']);
    const found = await operate(records, 'searchJournal', { kind: 'refused' });
    expect(new Set(found.records.map(({ tenant }) => tenant))).toEqual(new Set(['acme', 'default']));
    const seen = await operate({ ...context, caller: grace }, 'listApprovals', {});
    expect(seen.approvals.map(({ tenant }) => tenant)).toEqual(['default']);
  });

  test('sees tools that its principal could never call', async () => {
    const { context } = await openSetup();
    const caller = localOwner(ada.principal, 'default');
    expect(await operate({ ...context, caller }, 'getTool', { id: 'test.hidden' })).toMatchObject({
      id: 'test.hidden',
    });
    await expect(operate({ ...context, caller: ada }, 'getTool', { id: 'test.hidden' })).rejects.toThrow(
      'no such tool',
    );
  });

  test('acts only as the policies permit', async () => {
    const { context } = await openSetup();
    const caller = localOwner({ kind: 'user', name: 'mary' }, 'default');
    await expect(operate({ ...context, caller }, 'rotateKey', {})).rejects.toMatchObject({
      code: 'policy/denied',
    });
  });

  test('is needed to run with the records alone, and only for operations that open no more', async () => {
    const { gateway, context } = await openSetup();
    const records = { ...context, gateway: recordsOf(gateway) };
    await expect(operate({ ...records, caller: grace }, 'listApprovals', {})).rejects.toThrow(
      'only the records are open',
    );
    await expect(operate(records, 'listTools', {})).rejects.toThrow('only the records are open');
    const names: OperationName[] = ['listKeys', 'listTokens', 'listTrustedKeys', 'listSkills', 'listBudgets'];
    for (const name of names) {
      expect((await findOperation(name)).opens).toBe('records');
      expect(await operate(records, name, {})).toBeTypeOf('object');
    }
  });
});
