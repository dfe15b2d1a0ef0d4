#!/bin/sh
# Starts an engine and, beside it, an attestor that measures it from outside and answers /healthz for it.
#
#     MODEL=DIR MODEL_ID=NAME VERSION=vX.Y.Z sh examples/sidecar.sh ENGINE COMMAND...
#
# ENGINE is vllm, sglang, tgi, triton, llamacpp, llama-cpp-python or transformers; COMMAND starts it. Both end together.
# In Kubernetes the two are containers of one pod with a shared process namespace and the model on a volume that both
# mount.
set -eu

: "${MODEL:?the folder that the engine loads}" "${MODEL_ID:?what the contract calls the model}"
: "${VERSION:?its version}" "${URL:=http://127.0.0.1:8000}" "${LISTEN:=127.0.0.1:9100}"
engine=$1
shift

"$@" &
engine_pid=$!
trap 'kill "$engine_pid" 2>/dev/null || true' EXIT

dna attest --engine "$engine" --pid "$engine_pid" --model "$MODEL" --model-id "$MODEL_ID" --version "$VERSION" \
    --url "$URL" --listen "$LISTEN" &
attestor_pid=$!
trap 'kill "$attestor_pid" "$engine_pid" 2>/dev/null || true' EXIT
trap 'exit 0' TERM INT
wait "$attestor_pid"
