import { type PageAsked, pagesOf } from '../pages.ts';
import type { RequestOptions, Sender } from '../send.ts';
import type {
  AddTrustRequest,
  ApproveRequest,
  ApproveUpstreamRequest,
  AuditRequest,
  ChangeRequest,
  RevokeTrustRequest,
  RollbackRequest,
  RotateTrustRequest,
  SkillPage,
  SkillState,
  SkillSummary,
} from '../wire.ts';

export type SkillsAsked = PageAsked & { readonly state?: SkillState | undefined };

/** One version; left out: the one that runs, else the newest. */
export type OfVersion = { readonly version?: string | undefined };

export type InstallAsked = { readonly allowDowngrade?: boolean | undefined };

type ChangeName = 'quarantineSkill' | 'enableSkill' | 'disableSkill' | 'revokeSkill';

/** Skills: what is installed, what is done with it, and what of it may run. */
export function makeSkills(send: Sender) {
  const change =
    (name: ChangeName) =>
    (id: string, body: ChangeRequest = {}, options?: RequestOptions) =>
      send.json(name, { params: { id }, body, options });
  return {
    ...pagesOf<SkillsAsked, SkillPage, SkillSummary>(
      (query, options) => send.json('listSkills', { query, options }),
      ({ skills }) => skills,
    ),
    get: (id: string, query?: OfVersion, options?: RequestOptions) =>
      send.json('getSkill', { params: { id }, query, options }),
    /** Installs a signed package. Whatever it contains, it ends in quarantine. */
    install: (body: Uint8Array | Blob, query?: InstallAsked, options?: RequestOptions) =>
      send.json('installSkill', { body, query, options }),
    /** The exact bytes of an installed package. */
    package: (id: string, query?: OfVersion, options?: RequestOptions) =>
      send.bytes('getSkillPackage', { params: { id }, query, options }),
    /** What one version has that another does not. */
    diff: (id: string, query?: { readonly from?: string; readonly to?: string }, options?: RequestOptions) =>
      send.json('compareSkill', { params: { id }, query, options }),
    audit: (id: string, body: AuditRequest = {}, options?: RequestOptions) =>
      send.json('auditSkill', { params: { id }, body, options }),
    approve: (id: string, body: ApproveRequest, options?: RequestOptions) =>
      send.json('approveSkill', { params: { id }, body, options }),
    rollback: (id: string, body: RollbackRequest = {}, options?: RequestOptions) =>
      send.json('rollbackSkill', { params: { id }, body, options }),
    quarantine: change('quarantineSkill'),
    enable: change('enableSkill'),
    disable: change('disableSkill'),
    /** Permanent: these exact bytes never run again. */
    revoke: change('revokeSkill'),
    remove: (id: string, query?: ChangeRequest, options?: RequestOptions) =>
      send.json('removeSkill', { params: { id }, query, options }),
  };
}

/** Whose signatures on skills count. */
export function makeTrust(send: Sender) {
  return {
    list: (query?: { readonly publisher?: string | undefined }, options?: RequestOptions) =>
      send.json('listTrustedKeys', { query, options }),
    add: (body: AddTrustRequest, options?: RequestOptions) => send.json('trustKey', { body, options }),
    /** Trusts a new key; earlier ones sign nothing new, and what they signed keeps running. */
    rotate: (publisher: string, body: RotateTrustRequest, options?: RequestOptions) =>
      send.json('rotateTrustedKey', { params: { publisher }, body, options }),
    /** Permanent; what the key signed goes into quarantine. */
    revoke: (publisher: string, body: RevokeTrustRequest, options?: RequestOptions) =>
      send.json('revokeTrustedKey', { params: { publisher }, body, options }),
  };
}

/** The MCP servers behind the gateway. */
export function makeUpstreams(send: Sender) {
  return {
    list: (options?: RequestOptions) => send.json('listUpstreams', { options }),
    get: (name: string, options?: RequestOptions) => send.json('getUpstream', { params: { name }, options }),
    /** Connects anew and compares what the server offers with what was accepted. */
    refresh: (name: string, options?: RequestOptions) =>
      send.json('refreshUpstream', { params: { name }, options }),
    /** Accepts what a server offers, if it still is what was shown. */
    approve: (name: string, body: ApproveUpstreamRequest, options?: RequestOptions) =>
      send.json('approveUpstream', { params: { name }, body, options }),
  };
}
