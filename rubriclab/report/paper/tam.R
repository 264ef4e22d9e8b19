# Many-facet Rasch model: severity of raters and effect of orders. Needs the package TAM.
suppressPackageStartupMessages(library(TAM))
d <- read.csv("facets_long.csv", stringsAsFactors = TRUE)
d$scored <- as.integer(factor(paste(d$rater, d$order, d$read)))   # one row a text and scoring
key <- paste(d$person, d$scored)
items <- levels(d$item)
first <- !duplicated(key)
resp <- sapply(items, function(i) { m <- d[d$item == i, ]; m$score[match(key[first], key[d$item == i])] })
resp <- as.data.frame(matrix(resp, ncol = length(items), dimnames = list(NULL, items)))
facets <- d[first, c("rater", "order")]
facets <- facets[, sapply(facets, function(x) nlevels(droplevels(x)) > 1), drop = FALSE]
terms <- c(if (length(items) > 1) "item", names(facets), "step")
fit <- tam.mml.mfr(resp = resp, facets = facets, formulaA = reformulate(terms), pid = d$person[first],
                   control = list(progress = FALSE))
print(fit$xsi.facets)
