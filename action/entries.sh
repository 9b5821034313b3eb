#!/usr/bin/env bash
# Check, verify and report the entries of proof/ that a pull request changes.
#
#   ENTRIES      folders, separated by spaces; empty: those that differ from BASE
#   BASE         the commit that the pull request is held against
#   GROUNDS      grounds to verify on, separated by spaces
#   ENGINE, GPU  as of bundler verify; GPU is true or false
#   REPORTS      a folder for the evidence and the reports
#
# The Markdown goes to GITHUB_STEP_SUMMARY. Exits with the gravest of the commands' codes, after all entries.
# Names come from whoever opened the pull request, so they are matched before they are used, and never
# evaluated.
set -euo pipefail

readonly NAME='[a-z0-9][a-z0-9.-]*'
readonly SUMMARY="${GITHUB_STEP_SUMMARY:-/dev/stdout}"
readonly REPORTS="${REPORTS:-${RUNNER_TEMP:-/tmp}/bundler-reports}"

# Folders of entries whose files changed, or whose skill did, one a line.
changed() {
  git diff --name-only -z "${BASE:?the commit to compare with}...HEAD" -- proof skills |
    while IFS= read -r -d '' path; do
      if [[ $path =~ ^(proof/$NAME/$NAME)/ ]]; then
        printf '%s\n' "${BASH_REMATCH[1]}"
      elif [[ $path =~ ^skills/($NAME/$NAME)/ ]]; then
        using "${BASH_REMATCH[1]}"
      fi
    done | sort -u
}

# Folders of the entries that declare a skill.
using() {
  local declaration
  for declaration in proof/*/*/experiment.yaml; do
    if grep -qxF -e "skill: $1" -- "$declaration" 2>/dev/null; then
      printf '%s\n' "${declaration%/experiment.yaml}"
    fi
  done
}

# One entry's three commands; the gravest of their codes goes to $code.
entry() {
  local folder=$1 evidence="$REPORTS/${1//\//-}.json" step=0
  local -a grounds=()
  for ground in $GROUNDS; do grounds+=(--ground "$ground"); done

  grouped check "$folder" || worse $?
  grouped verify "$folder" --engine "$ENGINE" "$([[ $GPU == true ]] && echo --gpu || echo --no-gpu)" \
    "${grounds[@]}" --json "$evidence" || { step=$?; worse $step; }

  # Without evidence there is nothing to report but that.
  if [[ -s $evidence ]]; then
    bundler report "$evidence" --experiment "$folder" --markdown - >> "$SUMMARY" || worse $?
  else
    printf '### %s\n\nNothing was verified: bundler verify ended with %s.\n\n' "$folder" "$step" >> "$SUMMARY"
  fi
}

# A command of bundler in a foldable part of the log. What it prints may hold a candidate's text, and the runner would
# take a line of it that begins with two colons for a command of its own: so not before a token that nobody else knows.
grouped() {
  local token status=0
  token=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
  echo "::group::bundler $1 $2"
  echo "::stop-commands::$token"
  bundler "$@" || status=$?
  echo "::$token::"
  echo '::endgroup::'
  return "$status"
}

# 1, something differs, is the mildest; what broke a rule or could not be judged is told first.
worse() {
  if (($1 > code)); then code=$1; fi
}

main() {
  local folder list
  code=0
  mkdir -p "$REPORTS"
  if [[ -n ${ENTRIES:-} ]]; then
    list=$(tr -s '[:space:]' '\n' <<< "$ENTRIES")
  else
    list=$(changed)
  fi
  if [[ -z $list ]]; then
    echo 'No entry of proof/ has changed.' >> "$SUMMARY"
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
      echo "$folder was removed." >> "$SUMMARY"
    fi
  done <<< "$list"
  exit "$code"
}

: "${GROUNDS:=compile interpreter}" "${ENGINE:=host}" "${GPU:=false}"
main
