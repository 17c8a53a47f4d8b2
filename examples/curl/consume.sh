#!/usr/bin/env bash
# Consumes a queue with curl: one message at a time, acked after it was handled.
set -euo pipefail
url="${QUEEN_URL:-http://localhost:6632}"
queue="${QUEUE:?name the queue}"
group="${GROUP:-shell}"
left="${COUNT:--1}"

field() { # name: its first value in the answer
  grep -o "\"$1\":\"[^\"]*" <<<"$answer" | head -n 1 | cut -d'"' -f4
}

while [ "$left" -ne 0 ]; do
  # 204, an empty answer, means that nothing came within the timeout: ask again.
  answer="$(curl -sf "$url/api/v1/pop/queue/$queue?consumerGroup=$group&batch=1&wait=true&timeout=10000")"
  [ -n "$answer" ] || continue

  echo "got $(grep -o '"data":.*,"producerSub"' <<<"$answer" | sed 's/^"data"://; s/,"producerSub"$//')"

  curl -sf "$url/api/v1/ack" -o /dev/null -d "{
    \"transactionId\":\"$(field transactionId)\",\"partitionId\":\"$(field partitionId)\",
    \"leaseId\":\"$(field leaseId)\",\"consumerGroup\":\"$group\",\"status\":\"completed\"}"
  left=$((left - 1))
done
