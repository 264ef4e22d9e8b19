# Partial credit model of the columns that show every category in between. Needs the package eRm.
suppressPackageStartupMessages(library(eRm))
d <- read.csv("persons_wide.csv")
x <- as.matrix(d[, -1])
whole <- apply(x, 2, function(v) { v <- sort(unique(v[!is.na(v)])); length(v) > 1 && identical(as.numeric(v), seq_along(v) - 1) })
x <- x[, whole, drop = FALSE]
cat(sprintf("%d of %d columns can be used\n", sum(whole), length(whole)))
if (sum(whole) < 2) quit()
x <- x[rowSums(!is.na(x)) > 1, seq_len(min(ncol(x), 12)), drop = FALSE]   # the first twelve: more take long
fit <- PCM(x)
print(round(cbind(easiness = fit$betapar, se = fit$se.beta), 3))
