# Turns the output of "go test -bench" into one table for each package: a row
# for each benchmark, a column for each of its measures. Whatever is not a
# measurement (failures above all) is passed on as it is.

function flush_table(    i, j, line) {
	if (rows == 0) return
	printf "\n%s\n", package
	line = sprintf("  %-*s", width, "")
	for (j = 1; j <= columns; j++) line = line sprintf("  %14s", unit[j])
	print line
	for (i = 1; i <= rows; i++) {
		line = sprintf("  %-*s", width, name[i])
		for (j = 1; j <= columns; j++) line = line sprintf("  %14s", (i, unit[j]) in value ? value[i, unit[j]] : "-")
		print line
	}
	rows = columns = width = 0
	delete value; delete unit; delete name; delete known
}

/^pkg: / { flush_table(); package = $2; next }

/^Benchmark/ && NF >= 4 {
	rows++
	name[rows] = $1
	sub(/^Benchmark/, "", name[rows])
	sub(/-[0-9]+$/, "", name[rows])
	if (length(name[rows]) > width) width = length(name[rows])
	for (i = 3; i < NF; i += 2) {
		value[rows, $(i + 1)] = $i
		if (!($(i + 1) in known)) { known[$(i + 1)] = 1; unit[++columns] = $(i + 1) }
	}
	next
}

/^(goos|goarch|cpu|PASS|ok|\?)/ { next }

{ print }

END { flush_table() }
