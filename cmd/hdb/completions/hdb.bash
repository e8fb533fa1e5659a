# Completion of hdb for bash: source <(hdb completion bash), or this file as
# /usr/share/bash-completion/completions/hdb. hdb itself finds the words.
_hdb() {
	local kind word
	COMPREPLY=()
	{
		read -r kind
		while IFS= read -r word; do COMPREPLY+=("$word"); done
	} < <("${COMP_WORDS[0]}" --complete "$COMP_LINE" "$COMP_POINT" "$2" 2>/dev/null)
	if [ "$kind" = files ]; then
		compopt -o filenames
		while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -f -- "$2")
	fi
}
complete -F _hdb hdb
