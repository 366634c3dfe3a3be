/* Gives back its input, read and written anew. */
#include <palisade.h>

PALISADE_TOOL(echo) {
  palisade_writer output = palisade_write();
  palisade_put_json(&output, input);
  return palisade_written(&output);
}
