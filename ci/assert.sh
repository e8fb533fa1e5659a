#!/bin/sh
# assert.sh LIMITS... -- PROG [ARGS...] - hdb assert as CI runs it: action.yml on GitHub, ci/gitlab.yml on GitLab.
#
# Writes to the directory HDB_OUT, by default hdb-report: run.hdb, flamegraph.html, junit.xml, hdb.sarif, code-quality.json,
# and where GitHub has no summary, summary.md. HDB_AGAINST names an earlier recording, which is used if it is there.
# The exit code is that of hdb assert.
set -u

out=${HDB_OUT:-hdb-report}
mkdir -p "$out"
if [ -n "${HDB_AGAINST:-}" ] && [ -e "$HDB_AGAINST" ]; then
	set -- --against "$HDB_AGAINST" "$@"
fi
if [ -n "${GITHUB_ACTIONS:-}" ]; then
	set -- --annotations "$@"
fi
hdb assert -f -o "$out/run.hdb" --junit "$out/junit.xml" --sarif "$out/hdb.sarif" --code-quality "$out/code-quality.json" \
	--summary "${GITHUB_STEP_SUMMARY:-$out/summary.md}" "$@"
code=$?
if [ -e "$out/run.hdb" ]; then
	hdb flamegraph -f -o "$out/flamegraph.html" "$out/run.hdb" >/dev/null
fi
exit $code
