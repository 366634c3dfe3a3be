import { Answer, answerOf } from './answer';
import { handleOf, SECRET } from './capabilities';
import * as host from './palisade_v1';

/** A secret by its place in the grant. Name it in a request; only where the grant says so can it be read. */
export class Secret {
  readonly handle: i32;

  constructor(index: i32 = 0) {
    this.handle = handleOf(SECRET, index);
  }

  read(): Answer<Uint8Array> {
    return answerOf(host.secret_read(this.handle));
  }
}
