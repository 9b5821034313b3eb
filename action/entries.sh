#!/usr/bin/env bash
# Check, verify and report the entries of proof/ that a pull request changes.
#
#   ENTRIES      folders, separated by spaces; empty: those that differ from BASE
#   BASE         the commit that the pull request is held against
#   GROUNDS      grounds to verify on, separated by spaces
#   ENGINE, GPU  as of bundler verify; GPU is true or false
#   REPORTS      a folder for the evidence and the reports
#
# The Markdown goes to GITHUB_STEP_SUMMARY, or to the standard output where there is none. Exits with the gravest of the commands' codes, after all entries.
# Names come from whoever opened the pull request, so they are matched before they are used, and never
# evaluated.
set -euo pipefail

readonly NAME='[a-z0-9][a-z0-9.-]*'
readonly REPORTS="${REPORTS:-${RUNNER_TEMP:-/tmp}/bundler-reports}"

# Markdown, from the standard input. /dev/stdout would be opened anew, and what is written there be written over.
summary() {
  if [[ -n ${GITHUB_STEP_SUMMARY:-} ]]; then cat >> "$GITHUB_STEP_SUMMARY"; else cat; fi
}

# An error that nothing can go on after: the code, what is wrong, and what to do next.
fail() {
  printf 'error: %s\n  → %s\n' "$2" "$3" >&2
  exit "$1"
}

# The commit that the pull request left its base at.
left_at() {
  local base
  if [[ -z ${BASE:-} ]]; then
    fail 2 'there is no commit to compare with' 'give base, or entries: only a pull request has a base'
  fi
  git rev-parse --git-dir > /dev/null || fail 6 'git does not read this checkout' 'see what it says above'
  base=$(git rev-parse --verify --quiet --end-of-options "$BASE^{commit}") ||
    fail 6 "the commit $(printf '%q' "$BASE") is not in this checkout" 'check out with fetch-depth: 0'
  git merge-base "$base" HEAD ||
    fail 6 "nothing shows where HEAD left $base" 'check out with fetch-depth: 0'
}

# Folders of entries whose files changed, or whose skill did, one a line. A moved file has changed both folders.
changed() {
  local left
  left=$(left_at) || exit # a command substitution is without set -e
  git diff --name-only --no-renames -z "$left" HEAD -- proof skills |
    while IFS= read -r -d '' path; do
      if [[ $path =~ ^(proof/$NAME/$NAME)/ ]]; then
        printf '%s\n' "${BASH_REMATCH[1]}"
      elif [[ $path =~ ^skills/($NAME/$NAME)/ ]]; then
        using "${BASH_REMATCH[1]}"
      fi
    done | sort -u
}

# Folders of the entries that declare a skill, with or without quotes. One too many does no harm.
using() {
  local declaration before="(^|[{,[:space:]])[\"']?" after="[\"']?([[:space:],}]|\$)"
  for declaration in proof/*/*/experiment.yaml; do
    if grep -qE -e "${before}skill[\"']?:[[:space:]]*[\"']?${1//./\\.}$after" -- "$declaration" 2> /dev/null; then
      printf '%s\n' "${declaration%/experiment.yaml}"
    fi
  done
}

# One entry's three commands, with main's $gpu and $grounds; the gravest of their codes goes to $code.
entry() {
  local folder=$1 evidence="$REPORTS/${1//\//_}.json" step=0 # no name has an underscore

  rm -f -- "$evidence" # of an earlier step: it is none of this one's
  grouped check "$folder" || worse $?
  grouped verify "$folder" --engine "$ENGINE" "$gpu" "${grounds[@]}" \
    --json "$evidence" || { step=$?; worse $step; }

  # Without evidence there is nothing to report but that.
  if [[ -s $evidence ]]; then
    reported "$evidence" "$folder" || worse $?
  else
    printf '### %s\n\nNothing was verified: bundler verify ended with %s.\n\n' "$folder" "$step" | summary
  fi
}

# A command of bundler in a foldable part of the log.
grouped() {
  local token status=0
  echo "::group::bundler $1 $2"
  mute
  bundler "$@" 2>&1 || status=$?
  echo "::$token::"
  echo '::endgroup::'
  return "$status"
}

# The report of evidence $1 on entry $2: it goes to the summary, and what is wrong with it to the log.
reported() {
  local token status=0
  mute
  { bundler report "$1" --experiment "$2" --markdown - 2>&3 | summary; } 3>&1 || status=$?
  echo "::$token::"
  return "$status"
}

# What a command prints may hold a candidate's text or a file's name, and the runner would take a line of it that begins
# with two colons for a command of its own: so not before a token that nobody else knows. It reads both streams, in no
# order that is sure: so a command's errors go to the one that has the token, $token from here on.
mute() {
  token=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
  echo "::stop-commands::$token"
}

# 1, something differs, is the mildest; what broke a rule or could not be judged is told first.
worse() {
  if (($1 > code)); then code=$1; fi
}

main() {
  local folder list ground gpu=--no-gpu
  local -a words=() grounds=()
  code=0
  read -r -d '' -a words <<< "$GROUNDS" || true # it ends without a NUL
  for ground in "${words[@]}"; do grounds+=(--ground "$ground"); done
  case $GPU in
    true) gpu=--gpu ;;
    false) ;;
    *) fail 2 "gpu is $(printf '%q' "$GPU")" 'give true or false' ;;
  esac
  mkdir -p "$REPORTS"
  if [[ -n ${ENTRIES:-} ]]; then
    list=$(tr -s '[:space:]' '\n' <<< "$ENTRIES")
  else
    list=$(changed)
  fi
  if [[ -z $list ]]; then
    echo 'No entry of proof/ has changed.' | summary
  fi
  while IFS= read -r folder; do
    folder=${folder%/}
    if [[ -z $folder ]]; then
      continue
    elif [[ ! $folder =~ ^proof/$NAME/$NAME$ ]]; then
      printf 'error: %q is no entry: name proof/<category>/<kernel>\n' "$folder" >&2
      worse 2
    elif [[ -d $folder ]]; then
      entry "$folder" < /dev/null # or its commands would read the list
    else
      echo "$folder was removed." | summary
    fi
  done <<< "$list"
  exit "$code"
}

: "${GROUNDS:=compile interpreter}" "${ENGINE:=host}" "${GPU:=false}"
main
