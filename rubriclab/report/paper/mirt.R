# Rating scale or partial credit model of the columns. Needs the package mirt.
suppressPackageStartupMessages(library(mirt))
d <- read.csv("persons_wide.csv")
x <- as.matrix(d[, -1])
varies <- apply(x, 2, function(v) length(unique(v[!is.na(v)])) > 1)   # a column with one category says nothing
fit <- mirt(as.data.frame(x[, varies, drop = FALSE]), 1, itemtype = "Rasch", verbose = FALSE)
print(coef(fit, simplify = TRUE)$items)
cat(sprintf("%d of %d columns used\n", sum(varies), length(varies)))
