# Completion of hdb for fish: hdb completion fish | source, or this file in
# ~/.config/fish/completions. hdb itself finds the words.
function __hdb_complete
	set -l line (commandline)
	set -l lines (hdb --complete "$line" (commandline -C) 2>/dev/null)
	set -q lines[2]; and string join \n -- $lines[2..-1]
	test "$lines[1]" = files; and __fish_complete_path (commandline -ct)
end
complete -c hdb -f -a '(__hdb_complete)'
