/** How far a call is, as its server says. */
export type UpstreamProgress = {
  readonly progress: number;
  readonly total: number | null;
  readonly message: string | null;
};

/** Who wants to hear how a call goes on. */
export type Ear = (progress: UpstreamProgress) => void;

/** The doors that listen to calls while they run, by the ids of the calls. */
export class Ears {
  readonly #byCall = new Map<string, Ear>();

  /** Listens to a call until the given function is called. */
  attend(callId: string, ear: Ear | undefined): () => void {
    if (ear === undefined) return () => undefined;
    this.#byCall.set(callId, ear);
    return () => void this.#byCall.delete(callId);
  }

  /** Who listens to this call; undefined: nobody. */
  of(callId: string): Ear | undefined {
    return this.#byCall.get(callId);
  }
}
