# Scores as numbers: how much of their variance is texts, raters and orders. Needs the package lme4.
suppressPackageStartupMessages(library(lme4))
d <- read.csv("facets_long.csv", stringsAsFactors = TRUE)
terms <- c("person", "item", "rater", "order")
terms <- terms[sapply(d[terms], nlevels) > 1]
fit <- lmer(reformulate(sprintf("(1 | %s)", terms), "score"), data = d, na.action = na.omit)
print(VarCorr(fit), comp = "Variance")
cat(sprintf("%d scores used, %d missing\n", nobs(fit), sum(is.na(d$score))))
